"""Every query of `triagesuggestions`. Each decision is one conditional update: one winner."""

from __future__ import annotations

from typing import Any

from bson import ObjectId
from pymongo import DESCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from app.core.mongo import Database
from app.triage.models import TriageSuggestion

_OPEN: dict[str, Any] = {"applied": False, "dismissedAt": None, "undoneAt": None}


class SuggestionRepository:
    """Suggestions by event, order and id."""

    def __init__(self, database: Database) -> None:
        self._suggestions = database["triagesuggestions"]

    async def insert(self, suggestion: TriageSuggestion) -> bool:
        """False when the event has its suggestion already."""
        try:
            await self._suggestions.insert_one(suggestion.model_dump(by_alias=True))
        except DuplicateKeyError:
            return False
        return True

    async def get(self, suggestion_id: ObjectId) -> TriageSuggestion | None:
        return _suggestion(await self._suggestions.find_one({"_id": suggestion_id}))

    async def of_event(self, event_key: str) -> TriageSuggestion | None:
        return _suggestion(await self._suggestions.find_one({"eventKey": event_key}))

    async def of_order(self, order_id: ObjectId, limit: int) -> list[TriageSuggestion]:
        """Newest first."""
        cursor = self._suggestions.find({"workOrderId": order_id}).sort("createdAt", DESCENDING).limit(limit)
        return [TriageSuggestion.model_validate(row) async for row in cursor]

    async def settle_auto(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        """Ends a pending automatic application; None when that was done before."""
        return await self._update({"_id": suggestion_id, "autoApply": "pending"}, fields)

    async def apply(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        """The order has the suggested priority by it: it counts as applied, though it was dismissed in that moment."""
        return await self._update({"_id": suggestion_id, "applied": False, "undoneAt": None}, fields)

    async def dismiss(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        return await self._update({"_id": suggestion_id} | _OPEN, fields)

    async def undo(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        return await self._update({"_id": suggestion_id, "applied": True, "undoneAt": None}, fields)

    async def _update(self, predicate: dict[str, Any], fields: dict[str, Any]) -> TriageSuggestion | None:
        found = await self._suggestions.find_one_and_update(
            predicate, {"$set": fields}, return_document=ReturnDocument.AFTER
        )
        return _suggestion(found)


def _suggestion(row: dict[str, Any] | None) -> TriageSuggestion | None:
    return TriageSuggestion.model_validate(row) if row else None
