"""What is kept of agents' work, and for how long (SEC-12, D-28): content 90 days, the record of it a year.

`agentmessages` goes by its own TTL; calls and runs lose their content here and go by theirs.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure

from app.core.clock import Clock
from app.core.mongo import Database
from app.runs.models import CONTENT_DAYS, AgentToolCall
from app.runs.schemas import FINAL_OUTCOMES

_BATCH = 500
_CALL_CONTENT = ("args", "result", "preImage", "afterDiff")
_RUN_CONTENT = ("transcript",)
_INDEX_NOT_FOUND = 27


class Retention:
    """Unsets in bounded batches. Hashes, decision, proof and outcome stay."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._calls = database["agenttoolcalls"]
        self._runs = database["agentruns"]
        self._clock = clock
        self._done_to: datetime | None = None

    async def sweep(self) -> int:
        """Takes the content from what is older than 90 days and at its end; from how many rows."""
        until = self._clock.now() - timedelta(days=CONTENT_DAYS)
        age: dict[str, Any] = {"$lt": until} | ({"$gte": self._done_to} if self._done_to else {})
        calls = {"createdAt": age, "outcome": {"$in": sorted(FINAL_OUTCOMES)}}
        runs = {"createdAt": age, "status": {"$ne": "running"}}
        cleared = await _cleared(self._calls, calls, _CALL_CONTENT) + await _cleared(self._runs, runs, _RUN_CONTENT)
        self._done_to = until - timedelta(days=1)  # what was still at work then is looked at again
        return cleared


async def drop_older_ttl(database: Database) -> int:
    """Drops the TTLs by which an older desk would delete calls whole; how many. To be done before indexes are made."""
    calls, dropped = database["agenttoolcalls"], 0
    ours = {index.document["name"] for index in AgentToolCall.Settings.indexes}
    async for index in await calls.list_indexes():
        if "expireAfterSeconds" in index and index["name"] not in ours:
            dropped += await _dropped(calls, index["name"])
    return dropped


async def _dropped(rows: AsyncCollection[dict[str, Any]], name: str) -> bool:
    """False when another process was faster."""
    try:
        await rows.drop_index(name)
    except OperationFailure as error:
        if error.code != _INDEX_NOT_FOUND:
            raise
        return False
    return True


async def _cleared(rows: AsyncCollection[dict[str, Any]], query: dict[str, Any], fields: tuple[str, ...]) -> int:
    has_content = query | {"$or": [{name: {"$exists": True}} for name in fields]}
    cleared = 0
    while True:
        ids = [row["_id"] async for row in rows.find(has_content, {"_id": 1}).sort("createdAt", 1).limit(_BATCH)]
        if not ids:
            return cleared
        result = await rows.update_many({"_id": {"$in": ids}}, {"$unset": dict.fromkeys(fields, "")})
        cleared += result.modified_count
