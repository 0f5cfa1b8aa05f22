"""Between raw rows of `workorders` and light structs."""

from __future__ import annotations

from typing import Any

from app.work_orders.schemas import Change, HistoryMark, Order, PastOrder
from app.work_orders.search import folded_fields

ORDER_FIELDS = dict.fromkeys(
    ("title", "description", "priority", "status", "owner", "version", "createdAt", "updatedAt", "deletedAt"), 1
)


def to_order(row: dict[str, Any]) -> Order:
    return Order(
        id=row["_id"],
        title=row["title"],
        description=row.get("description"),
        priority=row.get("priority", "medium"),
        status=row.get("status", "pending"),
        owner=row["owner"],
        version=row.get("version", 1),
        created_at=row["createdAt"],
        updated_at=row.get("updatedAt", row["createdAt"]),
        deleted_at=row.get("deletedAt"),
    )


def to_mark(row: dict[str, Any]) -> HistoryMark:
    return HistoryMark(
        tool_call_id=row.get("toolCallId"),
        by=row["by"],
        at=row["at"],
        version=row["version"],
        via=row.get("via", "person"),
        action=row.get("action", "changed"),
        changes=[Change(c["field"], c.get("before"), c.get("after")) for c in row.get("changes", [])],
    )


def mark_row(mark: HistoryMark) -> dict[str, Any]:
    row: dict[str, Any] = {
        "by": mark.by,
        "at": mark.at,
        "version": mark.version,
        "via": mark.via,
        "action": mark.action,
    }
    row["changes"] = [{"field": c.field, "before": c.before, "after": c.after} for c in mark.changes]
    return row | ({"toolCallId": mark.tool_call_id} if mark.tool_call_id else {})


def order_row(order: Order, marks: list[HistoryMark]) -> dict[str, Any]:
    """A new order as it is stored."""
    return {
        "_id": order.id,
        "title": order.title,
        "description": order.description,
        "priority": order.priority,
        "status": order.status,
        "owner": order.owner,
        "version": order.version,
        "createdAt": order.created_at,
        "updatedAt": order.updated_at,
        "deletedAt": None,
        "history": [mark_row(mark) for mark in marks],
        **folded_fields(order.title),
    }


def past_row(past: PastOrder) -> dict[str, Any]:
    """An order brought in with its past: one mark for its creation and one for each step (D-27)."""
    marks = [HistoryMark(None, past.owner, past.created_at, 1, "person", "created", [])]
    before = "pending"
    for version, (at, status) in enumerate(past.steps, start=2):
        change = Change("status", before, status)
        marks.append(HistoryMark(None, past.owner, at, version, "person", "changed", [change]))
        before = status
    order = Order(
        id=past.id,
        title=past.title,
        description=past.description,
        priority=past.priority,
        status=past.status,
        owner=past.owner,
        version=marks[-1].version,
        created_at=past.created_at,
        updated_at=marks[-1].at,
    )
    return order_row(order, marks) | {"eventNotOwed": True}
