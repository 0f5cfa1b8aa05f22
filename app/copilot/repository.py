"""Every query of `copilotsessions`."""

from __future__ import annotations

from datetime import datetime

from bson import ObjectId
from pymongo import DESCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from app.copilot.models import CopilotSession
from app.core.ids import new_id
from app.core.mongo import Database


class SessionRepository:
    """Sessions; a unique index keeps one active per person, whoever races."""

    def __init__(self, database: Database) -> None:
        self._sessions = database["copilotsessions"]

    async def active(self, user_id: ObjectId) -> CopilotSession | None:
        found = await self._sessions.find_one({"userId": user_id, "status": "active"})
        return CopilotSession.model_validate(found) if found else None

    async def get(self, session_id: ObjectId) -> CopilotSession | None:
        found = await self._sessions.find_one({"_id": session_id})
        return CopilotSession.model_validate(found) if found else None

    async def archive_active(self, user_id: ObjectId, now: datetime) -> None:
        await self._sessions.update_one(
            {"userId": user_id, "status": "active"}, {"$set": {"status": "archived", "updatedAt": now}}
        )

    async def archive(self, session_id: ObjectId, user_id: ObjectId, now: datetime) -> CopilotSession | None:
        found = await self._sessions.find_one_and_update(
            {"_id": session_id, "userId": user_id},
            {"$set": {"status": "archived", "updatedAt": now}},
            return_document=ReturnDocument.AFTER,
        )
        return CopilotSession.model_validate(found) if found else None

    async def insert_active(self, user_id: ObjectId, now: datetime) -> CopilotSession | None:
        """None when another request made the active session first."""
        row = {"_id": new_id(), "userId": user_id, "status": "active", "createdAt": now, "updatedAt": now}
        try:
            await self._sessions.insert_one(row)
        except DuplicateKeyError:
            return None
        made: CopilotSession = CopilotSession.model_validate(row)
        return made

    async def touch(self, session_id: ObjectId, now: datetime) -> None:
        await self._sessions.update_one({"_id": session_id}, {"$set": {"updatedAt": now}})

    async def recent(self, user_id: ObjectId, limit: int) -> list[CopilotSession]:
        cursor = self._sessions.find({"userId": user_id}).sort("createdAt", DESCENDING).limit(limit)
        return [CopilotSession.model_validate(row) async for row in cursor]
