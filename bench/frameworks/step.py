"""What both frameworks share: the tool, as the desk reads and records it, and the clock around a run.

Runs where only the framework and PyMongo are installed: it imports nothing of the desk.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from bson import ObjectId
from pymongo import AsyncMongoClient, WriteConcern

Run = Callable[[str], Awaitable[None]]

_FIELDS = ("title", "description", "priority", "status", "version", "updatedAt")
_REPEATS = 3


class OrderTool:
    """A person's orders by title: one indexed query; with `RECORD=1` one journaled record of the call."""

    def __init__(self) -> None:
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(os.environ["MONGODB_URI"])
        database = client.get_database(os.environ["MONGODB_DB"], write_concern=WriteConcern(w=1, j=True))
        self._orders, self._calls = database["workorders"], database["bench_calls"]
        self._owner = ObjectId(os.environ["USER_ID"])
        self._records = os.environ["RECORD"] == "1"

    async def search(self, search: str) -> str:
        """Up to ten orders whose title holds `search`, newest first, as JSON."""
        query = {"owner": self._owner, "deletedAt": None, "titleFold": {"$regex": re.escape(search)}}
        cursor = self._orders.find(query, dict.fromkeys(_FIELDS, 1)).sort([("createdAt", -1), ("_id", -1)])
        rows = await cursor.hint("orders_own_titles").limit(10).to_list()
        result = json.dumps([row | {"_id": str(row["_id"]), "updatedAt": row["updatedAt"].isoformat()} for row in rows])
        if self._records:
            arguments = {"search": search}
            digest = hashlib.sha256(json.dumps(arguments).encode()).hexdigest()
            record = {"tool": "list_my_work_orders", "args": arguments, "argsHash": digest, "result": result}
            await self._calls.insert_one(record | {"createdAt": datetime.now(UTC)})
        return result


def measure(make_run: Callable[[OrderTool], Run]) -> None:
    """Prints the milliseconds of one tool step: a run with `STEPS` steps less one with none, divided by them."""
    print(json.dumps(asyncio.run(_measured(make_run))))


async def _measured(make_run: Callable[[OrderTool], Run]) -> float:
    steps, run = int(os.environ["STEPS"]), make_run(OrderTool())
    await run("bench steps=1")
    samples = []
    for _ in range(_REPEATS):
        whole, empty = await _seconds(run, f"bench steps={steps}"), await _seconds(run, "bench steps=0")
        samples.append((whole - empty) * 1000 / steps)
    return sorted(samples)[len(samples) // 2]


async def _seconds(run: Run, message: str) -> float:
    started = time.perf_counter()
    await run(message)
    return time.perf_counter() - started
