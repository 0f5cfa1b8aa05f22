"""A desk with the two demonstration systems connected, for tests over HTTP."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.llm.demo.script import Answer, call
from tests.tools.connections.systems import ENVIRONMENT, Systems, running_systems

RESERVE: dict[str, Any] = {
    "connection": "inventory",
    "method": "POST",
    "path": "/reservations",
    "body": {"sku": "SEA-0118", "quantity": 10},
}


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[Systems]:
    """Both systems behind policies in `folder`, with their secrets in this process's environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        assert os.environ["INVENTORY_TOKEN"]
        async with running_systems(folder) as systems:
            yield systems


def reserve(quantity: Any, intent: str, **changes: Any) -> Answer:
    """The model asks for a reservation of `quantity` seals."""
    body = {"sku": "SEA-0118", "quantity": quantity}
    return call("request", RESERVE | {"body": body, "intent": intent} | changes)


def sent(systems: Systems) -> list[tuple[str, str]]:
    """Method and path of every request that arrived at the inventory."""
    return [(one.method, one.path) for one in systems.inventory.requests]
