"""The outbox in numbers, for scraping: counted in the database, so true across processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core.mongo import Database

_STATES = ("pending", "processing", "done", "failed")


@dataclass(frozen=True, slots=True)
class OutboxFigures:
    """`depth`: open events by (state, wait reason or ""); of events made since a moment: claims and repeated ones."""

    depth: dict[tuple[str, str], int]
    oldest_due: datetime | None
    claims: int
    retries: int


class OutboxCounter:
    """Three queries, each served by an index."""

    def __init__(self, database: Database) -> None:
        self._events = database["outboxevents"]

    async def since(self, moment: datetime) -> OutboxFigures:
        claims, retries = await self._claims(moment)
        return OutboxFigures(await self._depth(), await self._oldest_due(), claims, retries)

    async def _depth(self) -> dict[tuple[str, str], int]:
        opened = {"status": {"$in": ["pending", "processing", "failed"]}}
        group: dict[str, Any] = {"_id": {"status": "$status", "reason": "$waitReason"}, "n": {"$sum": 1}}
        rows = await self._events.aggregate([{"$match": opened}, {"$group": group}])
        return {(row["_id"]["status"], row["_id"].get("reason") or ""): row["n"] async for row in rows}

    async def _oldest_due(self) -> datetime | None:
        """When the oldest event was made that nothing but room keeps from being worked on."""
        row = await self._events.find_one(
            {"status": "pending", "waitReason": None}, {"createdAt": 1}, sort=[("createdAt", 1)]
        )
        return row["createdAt"] if row else None

    async def _claims(self, moment: datetime) -> tuple[int, int]:
        made = {"status": {"$in": list(_STATES)}, "createdAt": {"$gte": moment}}
        again = {"$max": [{"$subtract": ["$attempts", 1]}, 0]}
        group = {"_id": None, "claims": {"$sum": "$attempts"}, "retries": {"$sum": again}}
        rows = await (await self._events.aggregate([{"$match": made}, {"$group": group}])).to_list()
        return (rows[0]["claims"], rows[0]["retries"]) if rows else (0, 0)
