"""Lists and title search: every query names its index and bounds what it examines (WO-3, WO-4, DATA-3).

Search over all orders: where a trigram of the term is rare, the few titles that have it are read. Else, and in one
owner's list, an index of folded titles is walked newest first. What does not end in time is walked in windows, and
the page that was cut short carries the position where the next one goes on, so nothing is missed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bson import ObjectId
from pymongo.errors import ExecutionTimeout

from app.core.clock import monotonic_ms
from app.core.cursors import Position
from app.core.errors import Unavailable
from app.core.mongo import Database, first_batch
from app.work_orders.documents import ORDER_FIELDS, to_order
from app.work_orders.models import ALL, ALL_FILTERED, ALL_TITLES, GRAMS, OWN, OWN_FILTERED, OWN_TITLES
from app.work_orders.schemas import PRIORITIES, STATUSES, Order, OrderFilter
from app.work_orders.search import fold, grams, literal_pattern

RARE, UNCOMMON = 300, 5_000
"""How many titles with a trigram are read at once: gladly, and rather than walking through all."""
MAX_PROBES = 8
FIRST_WINDOW, WIDEST_WINDOW, GROWTH = 2_000, 128_000, 8
SEARCH_BUDGET_MS = 1_000
_QUERY_LIMIT_MS, _BRIEFLY_MS = 3_000, 15
_NEWEST_FIRST = [("createdAt", -1), ("_id", -1)]
Row = dict[str, Any]
_FAR = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows of a list; `last` is where the next page goes on, None at the end. `cut`: the time was up first.

    `beside` is what the stage that went along found, if anything.
    """

    rows: list[Order]
    last: Position | None
    cut: bool = False
    beside: Row | None = None


class OrderLists:
    """One owner's orders (`owner`) or everyone's (None)."""

    def __init__(self, database: Database, *, search_budget_ms: int = SEARCH_BUDGET_MS) -> None:
        """`search_budget_ms`: how long a walk may take, and again one in windows; 0 means one window at a time."""
        self._database = database
        self._orders = database["workorders"]
        self._budget_ms = search_budget_ms

    async def page(
        self,
        owner: ObjectId | None,
        wanted: OrderFilter,
        after: Position | None,
        limit: int,
        *,
        stage: Row | None = None,
    ) -> Slice:
        """Up to `limit` live orders after `after`, `createdAt` then `_id` descending.

        `stage` goes along in the same trip where nothing is searched for: it adds at most one row `{beside: …}`.
        """
        try:
            if wanted.search:
                return await self._search(owner, wanted, fold(wanted.search), after, limit)
            return await self._plain(owner, wanted, after, limit, stage)
        except ExecutionTimeout:
            raise Unavailable("This list takes too long right now. Narrow the filter, or try again.") from None

    async def _plain(
        self, owner: ObjectId | None, wanted: OrderFilter, after: Position | None, limit: int, stage: Row | None
    ) -> Slice:
        query = {**_owned(owner), "deletedAt": None, **_between(after, None)}
        filtered = wanted.status is not None or wanted.priority is not None
        if filtered:  # both fields named, so that the index gives the order whichever was asked for
            query["status"] = {"$in": [wanted.status] if wanted.status else list(STATUSES)}
            query["priority"] = {"$in": [wanted.priority] if wanted.priority else list(PRIORITIES)}
        index = (OWN_FILTERED if filtered else OWN) if owner else (ALL_FILTERED if filtered else ALL)
        if stage is None:
            return _slice(await self._find(query, index, limit + 1), limit)
        return await self._with_one_beside(query, index, limit, stage)

    async def _with_one_beside(self, query: Row, index: str, limit: int, stage: Row) -> Slice:
        newest = [{"$match": query}, {"$sort": dict(_NEWEST_FIRST)}, {"$limit": limit + 1}, {"$project": ORDER_FIELDS}]
        rows = await first_batch(
            self._database,
            {
                "aggregate": "workorders",
                "pipeline": [*newest, stage],
                "hint": index,
                "cursor": {"batchSize": limit + 2},
                "maxTimeMS": _QUERY_LIMIT_MS,
            },
        )
        beside = rows.pop()["beside"] if rows and "beside" in rows[-1] else None
        return replace(_slice([to_order(row) for row in rows], limit), beside=beside)

    async def _search(
        self, owner: ObjectId | None, wanted: OrderFilter, term: str, after: Position | None, limit: int
    ) -> Slice:
        exact = {name: value for name in ("status", "priority") if (value := getattr(wanted, name))}
        match = {**_owned(owner), "titleFold": {"$regex": literal_pattern(term)}, **exact}
        walked = {**match, "deletedAt": None, **_between(after, None)}
        if owner is None:
            if gram := await self._gram_of(term, RARE):
                return await self._within(gram, walked, limit)
            with suppress(ExecutionTimeout):  # a common term fills its page at once
                return _slice(await self._find(walked, ALL_TITLES, limit + 1, _BRIEFLY_MS), limit)
            if gram := await self._gram_of(term, UNCOMMON):
                return await self._within(gram, walked, limit)
        if self._budget_ms:
            with suppress(ExecutionTimeout):
                index = OWN_TITLES if owner else ALL_TITLES
                return _slice(await self._find(walked, index, limit + 1, self._budget_ms), limit)
        return await self._walk_windows(owner, match, after, limit)

    async def _within(self, gram: str, walked: dict[str, Any], limit: int) -> Slice:
        return _slice(await self._find({**walked, "titleGrams": gram}, GRAMS, limit + 1), limit)

    async def _gram_of(self, term: str, most: int) -> str | None:
        """The least common of the term's trigrams, if at most `most` titles have it; of a long term, a few are counted.

        Those across two words come first: they are rarer. Looking ends at the first rare one.
        """
        counts: dict[str, int] = {}
        for gram in sorted(grams(term), key=lambda gram: gram[1] != " ")[:MAX_PROBES]:
            counts[gram] = await self._titles_with(gram, most + 1)
            if counts[gram] <= RARE:
                return gram
        least = min(counts, key=lambda gram: counts[gram], default=None)
        return least if least and counts[least] <= most else None

    async def _titles_with(self, gram: str, most: int) -> int:
        answer = await self._database.command(
            "count", "workorders", query={"titleGrams": gram}, limit=most, hint=GRAMS, maxTimeMS=_QUERY_LIMIT_MS
        )
        return int(answer["n"])

    async def _walk_windows(
        self, owner: ObjectId | None, match: dict[str, Any], after: Position | None, limit: int
    ) -> Slice:
        index = OWN_TITLES if owner else ALL_TITLES
        deadline = monotonic_ms() + self._budget_ms
        rows: list[Order] = []
        size = FIRST_WINDOW
        while True:
            end = await self._window_end(owner, index, after, size)
            query = {**match, "deletedAt": None, **_between(after, end)}
            rows += await self._find(query, index, limit + 1 - len(rows))
            if len(rows) > limit or end is None:
                return _slice(rows, limit)
            if monotonic_ms() >= deadline:
                return Slice(rows, end, cut=True)
            after, size = end, min(size * GROWTH, WIDEST_WINDOW)

    async def _window_end(
        self, owner: ObjectId | None, index: str, after: Position | None, size: int
    ) -> Position | None:
        """The position `size` orders further on, read from the index alone; None when there are fewer."""
        query = {**_owned(owner), "titleFold": {"$gte": ""}, **_between(after, None)}
        cursor = self._orders.find(query, {"createdAt": 1}).sort(_NEWEST_FIRST).hint(index)
        found = [row async for row in cursor.skip(size - 1).limit(1).max_time_ms(_QUERY_LIMIT_MS)]
        return Position(found[0]["createdAt"], found[0]["_id"]) if found else None

    async def _find(self, query: dict[str, Any], index: str, limit: int, most_ms: int = _QUERY_LIMIT_MS) -> list[Order]:
        rows = await first_batch(
            self._database,
            {
                "find": "workorders",
                "filter": query,
                "projection": ORDER_FIELDS,
                "sort": dict(_NEWEST_FIRST),
                "hint": index,
                "limit": limit,
                "batchSize": limit,
                "singleBatch": True,
                "maxTimeMS": most_ms,
            },
        )
        return [to_order(row) for row in rows]


def _owned(owner: ObjectId | None) -> dict[str, Any]:
    return {"owner": owner} if owner else {}


def _between(after: Position | None, end: Position | None) -> dict[str, Any]:
    """After `after` (not included) down to `end` (included).

    The range bounds the index. Ties are settled with `$nor`: for an `$or` the planner would scan once per branch.
    """
    bounds: dict[str, Any] = {"$lte": after.created_at if after else _FAR}
    ties: list[dict[str, Any]] = []
    if after:
        ties.append({"createdAt": after.created_at, "_id": {"$gte": after.id}})
    if end:
        bounds["$gte"] = end.created_at
        ties.append({"createdAt": end.created_at, "_id": {"$lt": end.id}})
    return {"createdAt": bounds, **({"$nor": ties} if ties else {})}


def _slice(rows: list[Order], limit: int) -> Slice:
    if len(rows) <= limit:
        return Slice(rows, None)
    last = rows[limit - 1]
    return Slice(rows[:limit], Position(last.created_at, last.id))
