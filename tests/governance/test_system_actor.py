"""The System Actor reaches one write and nothing else: every public method of every service is tried (SEC-6)."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from bson import ObjectId
from pydantic import BaseModel

from app.accounts.actors import Actor, HumanActor, SystemActor
from app.core.errors import Forbidden
from app.desk import Desk
from app.work_orders.errors import OrderNotFound
from app.work_orders.schemas import Mark

_ONLY_ENTRY = "WorkOrderService.triage_patch"
_PLAIN: dict[Any, Any] = {ObjectId: ObjectId(), int: 1, str: "x", bool: True, float: 1.0}


def _services(holder: Any) -> Iterator[Any]:
    """Every object of ours that the assembled desk holds, features opened."""
    for field in dataclasses.fields(holder):
        value = getattr(holder, field.name)
        if dataclasses.is_dataclass(value):
            yield from _services(value)
        elif type(value).__module__.startswith("app.") and not isinstance(value, BaseModel):
            yield value


def _takes_actor(hint: Any) -> bool:
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) or typing.get_origin(hint) else (hint,)
    return any(part in (HumanActor, SystemActor) for part in parts)


def _entries(desk: Desk) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name, bound method, its arguments) of each public method that takes an actor."""
    for service in _services(desk):
        for name, function in inspect.getmembers(type(service), inspect.isfunction):
            method = getattr(service, name) if not name.startswith("_") else function
            hints = typing.get_type_hints(method)
            actors = [one for one, hint in hints.items() if one != "return" and _takes_actor(hint)]
            if name.startswith("_") or not actors:
                continue
            needed = [
                one.name
                for one in inspect.signature(method).parameters.values()
                if one.default is inspect.Parameter.empty
            ]
            given = {one: _PLAIN.get(hints.get(one)) for one in needed} | dict.fromkeys(actors, SystemActor())
            yield f"{type(service).__name__}.{name}", method, given


async def test_every_public_method_refuses_the_system_actor_but_triage_patch(desk: Desk) -> None:
    """SEC-6: refused before anything else of the call is looked at."""
    tried = []
    for name, method, given in _entries(desk):
        if name == _ONLY_ENTRY:
            continue
        with pytest.raises(Forbidden):
            await method(**given)
        tried.append(name)
    assert {"WorkOrderService.update", "UserAdminService.set_role", "Oversight.switch", "AuditLog.page"} <= set(tried)
    assert len(tried) >= 25


async def test_triage_patch_takes_the_system_actor_and_no_person(desk: Desk) -> None:
    """SEC-6, AGT-7: it looks for the order; a dispatcher does not get that far."""
    (entry,) = [method for name, method, _ in _entries(desk) if name == _ONLY_ENTRY]
    rest = (ObjectId(), 1, "high", Mark("a" * 24, "triage"))
    with pytest.raises(OrderNotFound):
        await entry(SystemActor(), *rest)
    person: Actor = HumanActor(ObjectId(), "admin")
    with pytest.raises(Forbidden):
        await entry(person, *rest)
    assert "admin" not in typing.get_args(typing.get_type_hints(SystemActor)["role"])
