"""Every query of single work orders. Lists and search: `list_repository`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError

from app.core.mongo import Database
from app.work_orders.documents import ORDER_FIELDS, mark_row, order_row, past_row, to_mark, to_order
from app.work_orders.edits import Edit
from app.work_orders.models import ALL, ALL_TITLES, HISTORY_MAX, UNFOLDED
from app.work_orders.schemas import HistoryMark, Order, PastOrder
from app.work_orders.search import folded_fields

_DUPLICATE_KEY = 11000


class OrderRepository:
    """Orders by id, their conditional changes, and the walks over all of them."""

    def __init__(self, database: Database) -> None:
        self._orders = database["workorders"]

    async def insert(self, order: Order, mark: HistoryMark) -> bool:
        """Whether the order was stored; false when its id is taken."""
        try:
            await self._orders.insert_one(order_row(order, [mark]))
        except DuplicateKeyError:
            return False
        return True

    async def insert_past(self, orders: Sequence[PastOrder]) -> int:
        """Stores those whose ids are free; how many."""
        if not orders:
            return 0
        try:
            result = await self._orders.insert_many([past_row(order) for order in orders], ordered=False)
        except BulkWriteError as error:
            if any(fault["code"] != _DUPLICATE_KEY for fault in error.details["writeErrors"]):
                raise
            return int(error.details["nInserted"])
        return len(result.inserted_ids)

    async def find(self, order_id: ObjectId) -> Order | None:
        """The order, deleted or not."""
        row = await self._orders.find_one({"_id": order_id}, ORDER_FIELDS)
        return to_order(row) if row else None

    async def several(self, order_ids: Sequence[ObjectId]) -> list[tuple[Order, list[HistoryMark]]]:
        """Those of the orders that exist, deleted or not, each with its marks, oldest first."""
        cursor = self._orders.find({"_id": {"$in": list(order_ids)}}, ORDER_FIELDS | {"history": 1})
        return [(to_order(row), [to_mark(mark) for mark in row.get("history", [])]) async for row in cursor]

    async def history(self, order_id: ObjectId) -> list[HistoryMark]:
        """Its marks, oldest first."""
        row = await self._orders.find_one({"_id": order_id}, {"history": 1})
        return [to_mark(mark) for mark in (row or {}).get("history", [])]

    async def mark_of(self, order_id: ObjectId, tool_call_id: str) -> HistoryMark | None:
        """The mark that this call left on the order, deleted or not (D-5)."""
        marked = {"_id": order_id, "history.toolCallId": tool_call_id}
        row = await self._orders.find_one(marked, {"history": {"$elemMatch": {"toolCallId": tool_call_id}}})
        return to_mark(row["history"][0]) if row else None

    async def apply(self, order: Order, edit: Edit, mark: HistoryMark) -> Order | None:
        """One conditional update: only on this version, this side of deletion, and not twice by one call (D-5)."""
        predicate: dict[str, Any] = {
            "_id": order.id,
            "version": order.version,
            "deletedAt": {"$ne": None} if order.deleted_at else None,
        }
        if mark.tool_call_id:
            predicate["history.toolCallId"] = {"$ne": mark.tool_call_id}
        update: dict[str, Any] = {
            "$set": edit.set | {"version": mark.version, "updatedAt": mark.at},
            "$push": {"history": {"$each": [mark_row(mark)], "$slice": -HISTORY_MAX}},
        }
        if edit.unset:
            update["$unset"] = dict.fromkeys(edit.unset, "")
        row = await self._orders.find_one_and_update(
            predicate, update, projection=ORDER_FIELDS, return_document=ReturnDocument.AFTER
        )
        return to_order(row) if row else None

    async def count(self) -> int:
        """How many live orders there are, counted in an index alone."""
        searchable = {"createdAt": {"$gte": datetime.min}, "titleFold": {"$gte": ""}}
        return await self._orders.count_documents(searchable, hint=ALL_TITLES)

    async def owing_events(
        self, since: datetime, until: datetime, before: tuple[datetime, ObjectId] | None, limit: int
    ) -> list[Order]:
        """Live orders made in [since, until] that an event is owed for, newest first, after `before` (D-27)."""
        query: dict[str, Any] = {
            "deletedAt": None,
            "createdAt": {"$gte": since, "$lte": before[0] if before else until},
            "eventNotOwed": {"$ne": True},
        }
        if before:
            query["$nor"] = [{"createdAt": before[0], "_id": {"$gte": before[1]}}]
        cursor = self._orders.find(query, ORDER_FIELDS).sort([("createdAt", -1), ("_id", -1)]).hint(ALL).limit(limit)
        return [to_order(row) async for row in cursor]

    async def fold_some(self, limit: int) -> int:
        """Makes up to `limit` live orders of an older desk searchable; how many."""
        absent = {"titleFold": None, "deletedAt": None}
        cursor = self._orders.find(absent, {"title": 1}).hint(UNFOLDED).limit(limit)
        writes = [
            UpdateOne(
                {"_id": row["_id"], "title": row["title"], "deletedAt": None}, {"$set": folded_fields(row["title"])}
            )
            async for row in cursor
        ]
        return (await self._orders.bulk_write(writes, ordered=False)).modified_count if writes else 0
