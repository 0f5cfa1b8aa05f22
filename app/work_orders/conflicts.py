"""An edit that met a newer version: what changed meanwhile, and what the person wants, field by field (WO-6).

What the person saw is worked out from the order's history, so that a field they left alone keeps what others made
of it, and only what they typed is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.work_orders.schemas import FIELDS, HistoryEntry, WorkOrderPublic

_LABELS = {"title": "Title", "description": "Description", "priority": "Priority", "status": "Status"}


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """One field: as it is now, and as it will be if the person saves again."""

    field: str
    label: str
    now: str | None
    yours: str | None


@dataclass(frozen=True, slots=True)
class EditConflict:
    """`values` fill the form again: what the person typed, over the present state."""

    rows: list[ConflictRow]
    values: dict[str, str]


def merge(
    current: WorkOrderPublic, typed: Mapping[str, str], seen_version: int, history: Sequence[HistoryEntry]
) -> EditConflict:
    """`typed` was written over version `seen_version`; `history` is the order's, newest first."""
    seen = _as_seen(current, seen_version, history)
    values, rows = {}, []
    for name in FIELDS:
        now = getattr(current, name) or ""
        mine = typed.get(name, now)
        untouched = seen is not None and mine.strip() == (seen[name] or "")
        values[name] = now if untouched else mine
        if values[name].strip() != now or (seen is not None and now != (seen[name] or "")):
            rows.append(ConflictRow(name, _LABELS[name], now or None, values[name] or None))
    return EditConflict(rows, values)


def _as_seen(current: WorkOrderPublic, version: int, history: Sequence[HistoryEntry]) -> dict[str, str | None] | None:
    """The fields at `version`, walked back through the history; None where it does not reach."""
    fields: dict[str, str | None] = {name: getattr(current, name) for name in FIELDS}
    expected = current.version
    for entry in history:
        if expected == version:
            break
        if entry.version != expected:
            return None
        for change in entry.changes:
            fields[change.field] = change.before
        expected -= 1
    return fields if expected == version else None
