"""An edit over an older version, merged field by field."""

from __future__ import annotations

from datetime import UTC, datetime

from app.accounts.people import PersonRef
from app.work_orders.conflicts import ConflictRow, merge
from app.work_orders.schemas import Change, HistoryEntry, WorkOrderPublic

NOW = datetime(2026, 11, 30, tzinfo=UTC)
CURRENT = WorkOrderPublic(
    id="a" * 24,
    title="Pump leaks",
    description=None,
    priority="high",
    status="in_progress",
    owner=PersonRef(id="b" * 24, name="Rosa Lind", email="rosa@desk.test"),
    version=3,
    created_at=NOW,
    updated_at=NOW,
)


def _entry(version: int, *changes: Change) -> HistoryEntry:
    return HistoryEntry("b" * 24, "Dana Holt", NOW, "changed", list(changes), "person", version)


HISTORY = [_entry(3, Change("status", "pending", "in_progress")), _entry(2, Change("priority", "low", "high"))]
SEEN = {"title": "Pump leaks", "description": "", "priority": "low", "status": "pending"}


def test_a_field_the_person_left_alone_keeps_what_others_made_of_it() -> None:
    """WO-6: three-way, worked out from the history."""
    conflict = merge(CURRENT, SEEN | {"title": "Pump leaks badly"}, 1, HISTORY)
    assert conflict.values == {
        "title": "Pump leaks badly", "description": "", "priority": "high", "status": "in_progress",
    }  # fmt: skip
    assert conflict.rows == [
        ConflictRow("title", "Title", "Pump leaks", "Pump leaks badly"),
        ConflictRow("priority", "Priority", "high", "high"),
        ConflictRow("status", "Status", "in_progress", "in_progress"),
    ]


def test_a_field_both_changed_stays_as_the_person_typed_it_beside_what_it_is_now() -> None:
    """WO-6."""
    conflict = merge(CURRENT, SEEN | {"priority": "medium"}, 1, HISTORY)
    assert conflict.values["priority"] == "medium"
    assert ConflictRow("priority", "Priority", "high", "medium") in conflict.rows


def test_only_changes_since_the_version_that_was_seen_count() -> None:
    """WO-6."""
    conflict = merge(CURRENT, SEEN | {"priority": "high"}, 2, HISTORY)
    assert [row.field for row in conflict.rows] == ["status"]


def test_without_a_history_that_reaches_back_everything_typed_is_kept_and_shown_where_it_differs() -> None:
    """WO-6: orders of an older desk, and more changes than the history holds."""
    for history in ([], HISTORY[:1]):
        conflict = merge(CURRENT, SEEN | {"description": "Puddle"}, 1, history)
        assert conflict.values == SEEN | {"description": "Puddle"}
        assert [row.field for row in conflict.rows] == ["description", "priority", "status"]
