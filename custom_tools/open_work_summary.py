"""Example of a tool that reads the desk: it sees the orders of the person it runs for, and nobody else's."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from pydantic import ConfigDict, Field

from desk_tool import Arguments, Desk, declare


class Summary(Arguments):
    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"priority": "high"}]})

    priority: Literal["low", "medium", "high"] | None = Field(default=None, description="Only orders of this priority.")


@declare(
    name="open_work_summary",
    description="How many of the person's orders are open, by priority and status, and which has waited longest.",
    risk="read",
    arguments=Summary,
)
async def open_work_summary(args: Summary, desk: Desk) -> dict[str, object]:
    pending = await desk.list_orders(status="pending", priority=args.priority)
    started = await desk.list_orders(status="in_progress", priority=args.priority)
    orders = pending + started
    return {
        "open": len(orders),
        "pending": len(pending),
        "inProgress": len(started),
        "byPriority": dict(Counter(order["priority"] for order in orders)),
        "longestWaiting": _named(min(orders, key=lambda order: order["createdAt"], default=None)),
    }


def _named(order: dict[str, Any] | None) -> dict[str, Any] | None:
    return order and {key: order[key] for key in ("id", "title", "priority", "status", "createdAt")}
