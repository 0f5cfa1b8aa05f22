"""What a change does to an order: pure, so that a change and its undoing are tested without a database (D-5, D-30)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.work_orders.schemas import FIELDS, Action, Change, HistoryMark, Order
from app.work_orders.search import folded_fields

_NO_FOLD = ("titleFold", "titleGrams")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of an order: the fields to set and to drop, and what the history says of it."""

    action: Action
    set: dict[str, Any]
    changes: list[Change]
    unset: tuple[str, ...] = ()


def changing(order: Order, values: Mapping[str, Any]) -> Edit:
    """Sets `values` (by field name); the history names those that differ."""
    given = {name: values[name] for name in FIELDS if name in values}
    changes = [
        Change(name, getattr(order, name), value) for name, value in given.items() if _differs(order, name, value)
    ]
    folded = folded_fields(given["title"]) if "title" in given else {}
    return Edit("changed", given | folded, changes)


def deleting(at: datetime) -> Edit:
    """Soft deletion: the order leaves every list and the search with it (WO-7)."""
    return Edit("deleted", {"deletedAt": at}, [], _NO_FOLD)


def restoring(order: Order) -> Edit:
    return Edit("restored", {"deletedAt": None, **folded_fields(order.title)}, [])


def undoing(mark: HistoryMark, order: Order, at: datetime) -> Edit:
    """The reverse of `mark`, for an order at the version that `mark` produced."""
    if mark.action in ("created", "restored"):
        return deleting(at)
    if mark.action == "deleted":
        return restoring(order)
    return changing(order, {change.field: change.before for change in mark.changes})


def _differs(order: Order, name: str, value: Any) -> bool:
    return bool(getattr(order, name) != value)
