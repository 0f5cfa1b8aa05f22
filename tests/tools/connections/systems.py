"""The demonstration systems on free ports, and the shipped policies pointed at them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.tools.connections.demo.inventory import Inventory
from app.tools.connections.demo.notifications import Notifications
from tests.conftest import serving

SHIPPED = Path(__file__).resolve().parents[3] / "connections"
ENVIRONMENT = {"INVENTORY_TOKEN": "Bearer stock-7391-secret", "NOTIFICATIONS_TOKEN": "hook-8264-secret"}


@dataclass(frozen=True, slots=True)
class Systems:
    """Both systems, and the folder of policies that lead to them."""

    inventory: Inventory
    notifications: Notifications
    folder: Path


@asynccontextmanager
async def running_systems(folder: Path) -> AsyncIterator[Systems]:
    """Serves both; writes the shipped policies into `folder`, with their addresses."""
    inventory = Inventory(ENVIRONMENT["INVENTORY_TOKEN"])
    notifications = Notifications(ENVIRONMENT["NOTIFICATIONS_TOKEN"])
    async with serving(inventory) as stock_url, serving(notifications) as hook_url:
        write_policy(folder, "inventory", shipped("inventory") | {"baseUrl": f"{stock_url}/api"})
        write_policy(folder, "notifications", shipped("notifications") | {"baseUrl": f"{hook_url}/api"})
        yield Systems(inventory, notifications, folder)


def shipped(name: str) -> dict[str, Any]:
    """A shipped policy, parsed."""
    policy: dict[str, Any] = json.loads((SHIPPED / name / "policy.json").read_text())
    return policy


def write_policy(folder: Path, name: str, policy: dict[str, Any] | str) -> Path:
    """`<folder>/<name>/policy.json`, from an object or byte for byte."""
    path = folder / name / "policy.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(policy if isinstance(policy, str) else json.dumps(policy))
    return path
