"""Every query of `toolreviews`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import DESCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from app.core.mongo import Database
from app.tools.models import ReviewStatus, ToolReview


class ReviewRepository:
    """Requests move from `waiting` by conditional updates only: each has one winner."""

    def __init__(self, database: Database) -> None:
        self._reviews = database["toolreviews"]

    async def insert(self, review: ToolReview) -> None:
        """Met again (its id is derived), the one that is there stands."""
        try:
            await self._reviews.insert_one({"_id": review.id} | review.model_dump(by_alias=True, exclude={"id"}))
        except DuplicateKeyError:
            return

    async def get(self, review_id: ObjectId) -> ToolReview | None:
        found = await self._reviews.find_one({"_id": review_id})
        return ToolReview.model_validate(found) if found else None

    async def with_status(self, statuses: Sequence[ReviewStatus], limit: int) -> list[ToolReview]:
        """Newest first."""
        cursor = self._reviews.find({"status": {"$in": list(statuses)}}).sort("createdAt", DESCENDING).limit(limit)
        return [ToolReview.model_validate(row) async for row in cursor]

    async def of_requester(self, requester_id: ObjectId, limit: int) -> list[ToolReview]:
        """Newest first."""
        cursor = self._reviews.find({"requesterId": requester_id}).sort("createdAt", DESCENDING).limit(limit)
        return [ToolReview.model_validate(row) async for row in cursor]

    async def released_before(self, when: datetime, limit: int) -> list[ToolReview]:
        cursor = self._reviews.find({"status": "released", "updatedAt": {"$lt": when}}).limit(limit)
        return [ToolReview.model_validate(row) async for row in cursor]

    async def unaudited_before(self, when: datetime, limit: int) -> list[ToolReview]:
        decided = {"$in": ["released", "run", "refused", "failed"]}
        query = {"isAudited": False, "status": decided, "updatedAt": {"$lt": when}}
        return [ToolReview.model_validate(row) async for row in self._reviews.find(query).limit(limit)]

    async def audited(self, review_id: ObjectId) -> None:
        await self._reviews.update_one({"_id": review_id}, {"$set": {"isAudited": True}})

    async def waiting_of(self, requester_id: ObjectId, limit: int) -> int:
        query = {"requesterId": requester_id, "status": "waiting"}
        return await self._reviews.count_documents(query, limit=limit)

    async def count(self, status: ReviewStatus, limit: int) -> int:
        return await self._reviews.count_documents({"status": status}, limit=limit)

    async def move(self, review_id: ObjectId, expected: ReviewStatus, fields: dict[str, Any]) -> ToolReview | None:
        """Sets `fields` where the status is still `expected`; None for the loser."""
        found = await self._reviews.find_one_and_update(
            {"_id": review_id, "status": expected}, {"$set": fields}, return_document=ReturnDocument.AFTER
        )
        return ToolReview.model_validate(found) if found else None
