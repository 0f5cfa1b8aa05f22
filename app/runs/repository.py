"""Every query of `agentruns` and `agentmessages`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import ASCENDING, DESCENDING, ReturnDocument, WriteConcern
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError

from app.core.mongo import Database
from app.runs.models import AgentMessage, AgentRun
from app.runs.schemas import DailyRuns

_DUPLICATE_KEY = 11_000


class RunRepository:
    """Runs by conditional writes: a write of a working run names its fence (D-1)."""

    def __init__(self, database: Database) -> None:
        self._runs = database["agentruns"]
        # Copies of what the runs hold: written in order, but not each waiting for the disk.
        self._messages = database.get_collection("agentmessages", write_concern=WriteConcern(w=1, j=False))
        self._unwaited = database.get_collection("agentruns", write_concern=WriteConcern(w=1, j=False))

    def _of(self, mode: str) -> AsyncCollection[dict[str, Any]]:
        """Steps of the triage agent's runs do not wait for the disk.

        The journal is one sequence: a pass's next write that waits (its money, its suggestion) takes them along before
        anything rests on them. Those after the suggestion MongoDB can lose in a crash, and with them the end of the
        event: it comes back when its lease lapses, finds its suggestion, and ends the run again (AGT-2).
        """
        return self._unwaited if mode == "autonomous" else self._runs

    async def insert(self, run: dict[str, Any]) -> None:
        """Raises `DuplicateKeyError` when the person has a working run, or the idempotency key was used."""
        await self._of(run["mode"]).insert_one(run)

    async def get(self, run_id: ObjectId) -> AgentRun | None:
        found = await self._runs.find_one({"_id": run_id})
        return AgentRun.model_validate(found) if found else None

    async def by_idempotency_key(self, user_id: ObjectId, key: str) -> ObjectId | None:
        found = await self._runs.find_one({"userId": user_id, "idempotencyKey": key}, {"_id": 1})
        return found["_id"] if found else None

    async def working_of(self, user_id: ObjectId) -> AgentRun | None:
        found = await self._runs.find_one({"userId": user_id, "status": "running", "mode": "copilot"})
        return AgentRun.model_validate(found) if found else None

    async def take(self, run_id: ObjectId, now: datetime, until: datetime) -> tuple[AgentRun, bool] | None:
        """Leases a run that nobody holds and that waits for nobody; and whether it was free, not left behind."""
        found = await self._runs.find_one_and_update(
            {
                "_id": run_id,
                "status": "running",
                "parkedOn": None,
                "$or": [{"leaseUntil": None}, {"leaseUntil": {"$lt": now}}],
            },
            {"$inc": {"fence": 1}, "$set": {"leaseUntil": until, "updatedAt": now}},
            return_document=ReturnDocument.BEFORE,
        )
        if found is None:
            return None
        taken = found | {"fence": found.get("fence", 0) + 1, "leaseUntil": until, "updatedAt": now}
        return AgentRun.model_validate(taken), found.get("leaseUntil") is None

    async def fenced(self, run: AgentRun, update: dict[str, Any]) -> AgentRun | None:
        """One step of the holder of `run.fence`; None when the lease went to another."""
        found = await self._of(run.mode).find_one_and_update(
            {"_id": run.id, "status": "running", "fence": run.fence}, update, return_document=ReturnDocument.AFTER
        )
        return AgentRun.model_validate(found) if found else None

    async def wake(self, run_id: ObjectId, call_id: ObjectId, now: datetime) -> bool:
        """A decided call no longer holds its run."""
        result = await self._runs.update_one(
            {"_id": run_id, "parkedOn": call_id},
            {"$set": {"parkedOn": None, "leaseUntil": None, "updatedAt": now}},
        )
        return result.modified_count == 1

    async def repark(self, run_id: ObjectId, old: ObjectId, new: ObjectId, now: datetime) -> None:
        await self._runs.update_one(
            {"_id": run_id, "status": "running", "parkedOn": old}, {"$set": {"parkedOn": new, "updatedAt": now}}
        )

    async def finish_unheld(
        self, run_id: ObjectId, now: datetime, fields: dict[str, Any], more: dict[str, Any]
    ) -> AgentRun | None:
        """Ends a run that no process holds (parked, or its lease has lapsed); the fence moves on."""
        found = await self._runs.find_one_and_update(
            {
                "_id": run_id,
                "status": "running",
                "$or": [{"leaseUntil": None}, {"leaseUntil": {"$lt": now}}],
            },
            {"$set": fields, "$inc": {"fence": 1}} | more,
            return_document=ReturnDocument.AFTER,
        )
        return AgentRun.model_validate(found) if found else None

    async def ask_to_stop(self, run_id: ObjectId, reason: str, now: datetime) -> bool:
        result = await self._runs.update_one(
            {"_id": run_id, "status": "running", "stop": None},
            {"$set": {"stop": {"reason": reason, "at": now}, "updatedAt": now}},
        )
        return result.modified_count == 1

    async def parked(self, limit: int) -> list[tuple[ObjectId, ObjectId]]:
        """(run, call) of runs that wait for a decision, longest first."""
        cursor = self._runs.find({"status": "running", "parkedOn": {"$ne": None}}, {"parkedOn": 1}).limit(limit)
        return [(row["_id"], row["parkedOn"]) async for row in cursor]

    async def adrift(self, now: datetime, limit: int, mode: str) -> list[ObjectId]:
        """Working runs of `mode` whose lease lapsed, or that were woken and not yet taken."""
        free = [{"leaseUntil": None}, {"leaseUntil": {"$lt": now}}]
        query = {"status": "running", "mode": mode, "parkedOn": None, "$or": free}
        cursor = self._runs.find(query, {"_id": 1}).limit(limit)
        return [row["_id"] async for row in cursor]

    async def unstopped(self, mode: str, limit: int) -> list[ObjectId]:
        """Working runs of `mode` that nobody has asked to stop."""
        cursor = self._runs.find({"status": "running", "mode": mode, "stop": None}, {"_id": 1}).limit(limit)
        return [row["_id"] async for row in cursor]

    async def page(self, query: dict[str, Any], skip: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        """Newest first, without transcripts; and how many there are."""
        cursor = self._runs.find(query, {"transcript": 0}).sort("createdAt", DESCENDING).skip(skip).limit(limit)
        return [row async for row in cursor], await self._runs.count_documents(query)

    async def daily(self, mode: str, since: datetime) -> list[DailyRuns]:
        """Runs since then by UTC day and status; oldest day first."""
        day = {"$dateToString": {"format": "%Y-%m-%d", "date": "$createdAt"}}
        rows = await self._runs.aggregate(
            [
                {"$match": {"mode": mode, "createdAt": {"$gte": since}}},
                {"$group": {"_id": {"day": day, "status": "$status"}, "n": {"$sum": 1}}},
                {"$sort": {"_id.day": ASCENDING, "_id.status": ASCENDING}},
            ]
        )
        return [DailyRuns(row["_id"]["day"], row["_id"]["status"], row["n"]) async for row in rows]

    async def first_words(self, query: dict[str, Any], key: str) -> dict[str, str]:
        """The first message of the oldest run for each value of `key`."""
        rows = self._runs.aggregate(
            [
                {"$match": query},
                {"$sort": {"createdAt": ASCENDING}},
                {"$group": {"_id": f"${key}", "words": {"$first": {"$first": "$transcript.content"}}}},
            ]
        )
        return {str(row["_id"]): row["words"] or "" async for row in await rows}

    async def of_session(self, session_id: ObjectId, limit: int) -> list[AgentRun]:
        """The session's newest runs, newest first."""
        cursor = self._runs.find({"sessionId": session_id}).sort("createdAt", DESCENDING).limit(limit)
        return [AgentRun.model_validate(row) async for row in cursor]

    async def project_messages(self, messages: Sequence[dict[str, Any]]) -> None:
        """Copies messages for people to read; those already there are left as they are."""
        if not messages:
            return
        try:
            await self._messages.insert_many(messages, ordered=False)
        except BulkWriteError as error:
            faults = error.details["writeErrors"] if error.details else []
            if any(fault["code"] != _DUPLICATE_KEY for fault in faults):
                raise

    async def messages(self, run_ids: Sequence[ObjectId], limit: int) -> list[AgentMessage]:
        cursor = (
            self._messages.find({"runId": {"$in": list(run_ids)}})
            .sort([("runId", 1), ("seq", 1), ("createdAt", 1)])
            .limit(limit)
        )
        return [AgentMessage.model_validate(row) async for row in cursor]
