"""Every query of `outboxevents`. Each write is one conditional update."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument, WriteConcern
from pymongo.errors import DuplicateKeyError

from app.core.mongo import Database
from app.outbox.schemas import Event, EventStatus, OutboxCounts

_ADOPT_BATCH = 500
_OPEN: tuple[EventStatus, ...] = ("pending", "processing", "failed")


class OutboxRepository:
    """Events, their claims and their counts."""

    def __init__(self, database: Database) -> None:
        self._events = database["outboxevents"]
        self._unwaited = database.get_collection("outboxevents", write_concern=WriteConcern(w=1, j=False))

    async def insert(self, document: dict[str, Any]) -> bool:
        """Whether the event was made; false when `{type, payloadRef}` has one already."""
        try:
            await self._events.insert_one(document)
        except DuplicateKeyError:
            return False
        return True

    async def claim_due(self, now: datetime, lease: dict[str, Any]) -> Event | None:
        """Leases the event that has been due for longest."""
        return await self._claim({"availableAt": {"$lte": now}}, lease)

    async def claim_one(self, type_: str, payload_ref: str, now: datetime, lease: dict[str, Any]) -> Event | None:
        """Leases this event unless it is settled or in somebody's hands; one that waits need not be due."""
        free = [{"status": {"$in": ["pending", "failed"]}}, {"availableAt": {"$lte": now}}]
        return await self._claim({"type": type_, "payloadRef": payload_ref, "$or": free}, lease)

    async def _claim(self, predicate: dict[str, Any], lease: dict[str, Any]) -> Event | None:
        row = await self._events.find_one_and_update(
            predicate,
            {"$set": lease, "$inc": {"attempts": 1}, "$unset": {"waitReason": ""}},
            sort=[("availableAt", 1)],
            return_document=ReturnDocument.AFTER,
        )
        return to_event(row) if row else None

    async def update_claimed(self, event: Event, update: dict[str, Any], *, waits: bool = True) -> bool:
        """Changes the event if `event.claim` still holds it; without `waits` before the disk has it."""
        if event.claim is None:
            return False
        events = self._events if waits else self._unwaited
        result = await events.update_one({"_id": ObjectId(event.id), "claim": event.claim}, update)
        return result.matched_count == 1

    async def park_due(self, type_: str, now: datetime, fields: dict[str, Any]) -> int:
        """Parks every due event that nobody holds; how many."""
        due = {"type": type_, "status": "pending", "availableAt": {"$lte": now}}
        return (await self._events.update_many(due, {"$set": fields})).modified_count

    async def unpark(self, type_: str, now: datetime, reasons: Sequence[str]) -> int:
        """Makes the parked events due again, as long ago as they were made: the order of arrival stays."""
        parked = {"type": type_, "status": "pending", "availableAt": {"$gt": now}, "waitReason": {"$in": list(reasons)}}
        due: list[dict[str, Any]] = [
            {"$set": {"availableAt": "$createdAt", "updatedAt": now}},
            {"$unset": "waitReason"},
        ]
        return (await self._events.update_many(parked, due)).modified_count

    async def reopen_failed(self, event_id: ObjectId, now: datetime) -> bool:
        result = await self._events.update_one(
            {"_id": event_id, "status": "failed"},
            {"$set": {"status": "pending", "attempts": 0, "availableAt": now, "updatedAt": now}},
        )
        return result.matched_count == 1

    async def adopt(self) -> int:
        """Gives open rows of an older desk their `availableAt`: when they were made, or their lease ends."""
        adopted = 0
        for status, due in (("pending", "$createdAt"), ("processing", {"$ifNull": ["$leasedUntil", "$createdAt"]})):
            absent = {"status": status, "availableAt": None}
            ids = [row["_id"] async for row in self._events.find(absent, {"_id": 1}).limit(_ADOPT_BATCH)]
            if ids:
                result = await self._events.update_many(
                    {"_id": {"$in": ids}, **absent}, [{"$set": {"availableAt": due}}]
                )
                adopted += result.modified_count
        return adopted

    async def present(self, type_: str, refs: Sequence[str]) -> set[str]:
        """Those of `refs` that have an event."""
        query = {"type": type_, "payloadRef": {"$in": list(refs)}}
        return {row["payloadRef"] async for row in self._events.find(query, {"_id": 0, "payloadRef": 1})}

    async def find(self, type_: str, payload_ref: str) -> Event | None:
        row = await self._events.find_one({"type": type_, "payloadRef": payload_ref})
        return to_event(row) if row else None

    async def page(self, statuses: Sequence[EventStatus], skip: int, limit: int) -> list[Event]:
        query = {"status": {"$in": list(statuses)}}
        cursor = self._events.find(query).sort([("createdAt", -1), ("_id", -1)]).skip(skip).limit(limit)
        return [to_event(row) async for row in cursor]

    async def total(self, statuses: Sequence[EventStatus]) -> int:
        return await self._events.count_documents({"status": {"$in": list(statuses)}})

    async def counts(self) -> OutboxCounts:
        grouped = await self._events.aggregate(
            [
                {"$match": {"status": {"$in": list(_OPEN)}}},
                {"$group": {"_id": {"status": "$status", "reason": "$waitReason"}, "n": {"$sum": 1}}},
            ]
        )
        sums: dict[str, int] = dict.fromkeys(_OPEN, 0)
        parked: dict[str, int] = {}
        async for row in grouped:
            status, reason = row["_id"]["status"], row["_id"].get("reason")
            sums[status] += row["n"]
            if status == "pending" and reason:
                parked[reason] = parked.get(reason, 0) + row["n"]
        return OutboxCounts(sums["pending"], sums["processing"], sums["failed"], parked)


def to_event(row: dict[str, Any]) -> Event:
    """The light struct of a raw row, an older desk's included."""
    return Event(
        id=str(row["_id"]),
        type=row["type"],
        payload_ref=row["payloadRef"],
        status=row["status"],
        attempts=row.get("attempts", 0),
        created_at=row["createdAt"],
        updated_at=row.get("updatedAt", row["createdAt"]),
        available_at=row.get("availableAt"),
        claim=row.get("claim"),
        wait_reason=row.get("waitReason"),
        last_error=row.get("lastError"),
        outcome=row.get("outcome"),
    )
