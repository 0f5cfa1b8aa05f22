"""Every query of `agenttoolcalls`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import DESCENDING, ReturnDocument, WriteConcern
from pymongo.errors import DuplicateKeyError

from app.core.mongo import Database, first_batch
from app.runs.models import AgentToolCall


class CallRepository:
    """Calls move between outcomes by conditional updates only: each transition has one winner (D-6)."""

    def __init__(self, database: Database) -> None:
        self._calls = database["agenttoolcalls"]
        self._unwaited = database.get_collection("agenttoolcalls", write_concern=WriteConcern(w=1, j=False))

    async def insert(self, call: dict[str, Any], *, waits: bool = True) -> bool:
        """False when this very call is already on record (its id is derived): a retry changes nothing.

        Without `waits` it is on disk with the caller's next write that waits, not before.
        """
        try:
            await (self._calls if waits else self._unwaited).insert_one(call)
        except DuplicateKeyError:
            return False
        return True

    async def get(self, call_id: ObjectId) -> AgentToolCall | None:
        found = await self._calls.find_one({"_id": call_id})
        return AgentToolCall.model_validate(found) if found else None

    async def by_token_hash(self, token_hash: str) -> AgentToolCall | None:
        """The type is named for the planner: the index holds texts only."""
        found = await self._calls.find_one({"approval.tokenHash": {"$eq": token_hash, "$type": "string"}})
        return AgentToolCall.model_validate(found) if found else None

    async def many(self, call_ids: Sequence[ObjectId]) -> dict[ObjectId, AgentToolCall]:
        cursor = self._calls.find({"_id": {"$in": list(call_ids)}})
        return {row["_id"]: AgentToolCall.model_validate(row) async for row in cursor}

    async def of_runs(self, run_ids: Sequence[ObjectId], limit: int) -> list[AgentToolCall]:
        cursor = self._calls.find({"runId": {"$in": list(run_ids)}}).sort([("runId", 1), ("createdAt", 1)]).limit(limit)
        return [AgentToolCall.model_validate(row) async for row in cursor]

    async def of_user(self, user_id: ObjectId, outcomes: Sequence[str], limit: int) -> list[AgentToolCall]:
        """The person's calls with one of `outcomes`, newest first."""
        cursor = (
            self._calls.find({"userId": user_id, "outcome": {"$in": list(outcomes)}, "approval": {"$ne": None}})
            .sort("createdAt", DESCENDING)
            .limit(limit)
        )
        return [AgentToolCall.model_validate(row) async for row in cursor]

    async def count_pending(self, user_id: ObjectId) -> int:
        """At most 100. Every page of a person's asks it: one plain trip, without the driver's cursor."""
        where = {"userId": user_id, "outcome": "pending"}
        found = {"find": self._calls.name, "filter": where, "projection": {"_id": 1}, "limit": 100, "singleBatch": True}
        return len(await first_batch(self._calls.database, found))

    async def move(self, call_id: ObjectId, expected: str, fields: dict[str, Any], **more: Any) -> AgentToolCall | None:
        """Sets `fields` where the outcome is still `expected` (and `more` holds); None for the loser."""
        found = await self._calls.find_one_and_update(
            {"_id": call_id, "outcome": expected} | more, {"$set": fields}, return_document=ReturnDocument.AFTER
        )
        return AgentToolCall.model_validate(found) if found else None

    async def lease_execution(self, call_id: ObjectId, by: str, now: datetime, until: datetime) -> AgentToolCall | None:
        """Takes an approved call to execute it: nobody else does, or their lease has lapsed."""
        found = await self._calls.find_one_and_update(
            {
                "_id": call_id,
                "outcome": "approved",
                "$or": [{"lease": None}, {"lease.until": {"$lt": now}}, {"lease.by": by}],
            },
            {"$set": {"lease": {"by": by, "until": until}, "updatedAt": now}, "$inc": {"attempt": 1}},
            return_document=ReturnDocument.AFTER,
        )
        return AgentToolCall.model_validate(found) if found else None

    async def extend(
        self, call_id: ObjectId, user_id: ObjectId, now: datetime, by_ms: int, most: int
    ) -> AgentToolCall | None:
        """Moves the expiry of a pending call by `by_ms`, at most `most` times."""
        found = await self._calls.find_one_and_update(
            {
                "_id": call_id,
                "userId": user_id,
                "outcome": "pending",
                "approval.expiresAt": {"$gt": now},
                "approval.extensions": {"$lt": most},
            },
            [
                {
                    "$set": {
                        "approval.expiresAt": {"$add": ["$approval.expiresAt", by_ms]},
                        "approval.extensions": {"$add": ["$approval.extensions", 1]},
                        "updatedAt": now,
                    }
                }
            ],
            return_document=ReturnDocument.AFTER,
        )
        return AgentToolCall.model_validate(found) if found else None

    async def overdue(self, now: datetime, limit: int) -> list[AgentToolCall]:
        cursor = self._calls.find({"outcome": "pending", "approval.expiresAt": {"$lte": now}}).limit(limit)
        return [AgentToolCall.model_validate(row) async for row in cursor]

    async def unfinished_approved(self, now: datetime, limit: int) -> list[AgentToolCall]:
        """Approved calls that nobody executes any more."""
        cursor = self._calls.find(
            {"outcome": "approved", "$or": [{"lease": None}, {"lease.until": {"$lt": now}}]}
        ).limit(limit)
        return [AgentToolCall.model_validate(row) async for row in cursor]

    async def spend_preview(
        self, run_id: ObjectId, handshake_hash: str, by: ObjectId, now: datetime
    ) -> AgentToolCall | None:
        """An approved preview of this run, in its time, used up by exactly one call; met again, that call's own."""
        found = await self._calls.find_one_and_update(
            {
                "runId": run_id,
                "outcome": "executed",
                "approval.status": "approved",
                "handshakeHash": handshake_hash,
                "$or": [{"spentBy": by}, {"spentBy": None, "approval.expiresAt": {"$gt": now}}],
            },
            {"$set": {"spentBy": by, "updatedAt": now}},
            sort=[("spentBy", DESCENDING)],
            return_document=ReturnDocument.AFTER,
        )
        return AgentToolCall.model_validate(found) if found else None

    async def mark_undone(self, call_id: ObjectId, now: datetime) -> None:
        await self._calls.update_one({"_id": call_id}, {"$set": {"undoneAt": now, "updatedAt": now}})
