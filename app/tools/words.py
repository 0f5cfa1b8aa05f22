"""How a change is told in one line: written here, never by the model (003 §4.6)."""

from __future__ import annotations

from typing import Any

from app.core.unseen import revealed
from app.work_orders.schemas import FIELDS, WorkOrderPublic

VALUE_WORDS = {
    "low": "Low",
    "medium": "Medium",
    "high": "High",
    "pending": "Pending",
    "in_progress": "In progress",
    "done": "Done",
}
_SHORT = ("priority", "status")


def value_word(value: object) -> str:
    """A stored value as a person reads it."""
    if value is None or value == "":
        return "(empty)"
    return VALUE_WORDS.get(str(value), str(value))


def summary_of_changes(order: WorkOrderPublic, changes: dict[str, Any]) -> str:
    """`Priority low → high · description changed`."""
    parts = [
        f"{name} {value_word(getattr(order, name)).lower()} → {value_word(changes[name]).lower()}"
        if name in _SHORT
        else f"{name} changed"
        for name in FIELDS
        if name in changes
    ]
    line = " · ".join(parts)
    return line[:1].upper() + line[1:]


def summary_of_creation(fields: dict[str, Any]) -> str:
    """`New work order “Pump leaks”, medium priority`."""
    return f"New work order “{revealed(fields['title'])}”, {value_word(fields['priority']).lower()} priority"


def summary_of_deletion(title: str) -> str:
    """`Delete “Pump leaks”`."""
    return f"Delete “{revealed(title)}”"
