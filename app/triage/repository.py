"""Every query of `triagesuggestions`. Each decision is one conditional update: one winner."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import DESCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from app.core.mongo import Database
from app.triage.models import NEEDS_A_LOOK, TriageSuggestion

_UNDECIDED: dict[str, Any] = {
    "dismissedAt": None,
    "undoneAt": None,
    "$or": [{"applied": False}, {"appliedBy": "system"}],
}


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

    async def of_runs(self, run_ids: Sequence[ObjectId]) -> list[TriageSuggestion]:
        cursor = self._suggestions.find({"runId": {"$in": list(run_ids)}})
        return [TriageSuggestion.model_validate(row) async for row in cursor]

    async def open_of_orders(self, order_ids: Sequence[ObjectId]) -> list[TriageSuggestion]:
        """Those that wait for a person's word."""
        query = {"workOrderId": {"$in": list(order_ids)}, "applied": False, "dismissedAt": None, "undoneAt": None}
        return [TriageSuggestion.model_validate(row) async for row in self._suggestions.find(query)]

    async def since(self, moment: datetime, skip: int, limit: int) -> list[TriageSuggestion]:
        """Newest first."""
        cursor = self._suggestions.find({"createdAt": {"$gte": moment}}).sort("createdAt", DESCENDING)
        return [TriageSuggestion.model_validate(row) async for row in cursor.skip(skip).limit(limit)]

    async def needing_a_look(self, skip: int, limit: int) -> list[TriageSuggestion]:
        """Flagged ones that are not known to be acted on, newest first."""
        cursor = self._suggestions.find(NEEDS_A_LOOK).sort([("createdAt", DESCENDING), ("_id", DESCENDING)])
        return [TriageSuggestion.model_validate(row) async for row in cursor.skip(skip).limit(limit)]

    async def acted_on(self, suggestion_ids: Sequence[ObjectId], now: datetime) -> None:
        """Keeps what was found out: somebody acted on these."""
        if suggestion_ids:
            await self._suggestions.update_many({"_id": {"$in": list(suggestion_ids)}}, {"$set": {"actedAt": now}})

    async def settle_auto(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        """Ends a pending automatic application; None when that was done before."""
        return await self._update({"_id": suggestion_id, "autoApply": "pending"}, fields)

    async def apply(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        """The order has the suggested priority by it: it counts as applied, though it was dismissed in that moment."""
        return await self._update({"_id": suggestion_id, "applied": False, "undoneAt": None}, fields)

    async def dismiss(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        """What nobody decided on: suggested, or applied by the system alone."""
        return await self._update({"_id": suggestion_id} | _UNDECIDED, fields)

    async def undo(self, suggestion_id: ObjectId, fields: dict[str, Any]) -> TriageSuggestion | None:
        return await self._update({"_id": suggestion_id, "applied": True, "undoneAt": None}, fields)

    async def _update(self, predicate: dict[str, Any], fields: dict[str, Any]) -> TriageSuggestion | None:
        found = await self._suggestions.find_one_and_update(
            predicate, {"$set": fields}, return_document=ReturnDocument.AFTER
        )
        return _suggestion(found)


def _suggestion(row: dict[str, Any] | None) -> TriageSuggestion | None:
    return TriageSuggestion.model_validate(row) if row else None
