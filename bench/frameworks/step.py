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
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bson import ObjectId
from pymongo import AsyncMongoClient, WriteConcern

_FIELDS = ("title", "description", "priority", "status", "version", "updatedAt")
_REPEATS = 3


@dataclass(frozen=True)
class Waiting:
    """A run that waits for a person: the write that it proposes, and how its state is written down."""

    arguments: dict[str, Any]
    state: Callable[[], str]


Run = Callable[[str], Awaitable[Waiting | None]]


class OrderTool:
    """A person's orders by title: one indexed query; with `RECORD=1` one journaled record of the call."""

    def __init__(self) -> None:
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(os.environ["MONGODB_URI"])
        database = client.get_database(os.environ["MONGODB_DB"], write_concern=WriteConcern(w=1, j=True))
        self._orders, self._calls = database["workorders"], database["bench_calls"]
        self._owner = ObjectId(os.environ["USER_ID"])
        self._records = os.environ["RECORD"] == "1"
        self.returned_at = 0.0
        """When the last read gave its result."""

    async def search(self, search: str) -> str:
        """Up to ten orders whose title holds `search`, newest first, as JSON."""
        query = {"owner": self._owner, "deletedAt": None, "titleFold": {"$regex": re.escape(search)}}
        cursor = self._orders.find(query, dict.fromkeys(_FIELDS, 1)).sort([("createdAt", -1), ("_id", -1)])
        rows = await cursor.hint("orders_own_titles").limit(10).to_list()
        result = json.dumps([row | {"_id": str(row["_id"]), "updatedAt": row["updatedAt"].isoformat()} for row in rows])
        if self._records:
            await self._record("list_my_work_orders", {"search": search}, result=result)
        self.returned_at = time.perf_counter()
        return result

    async def keep(self, waiting: Waiting) -> None:
        """With `RECORD=1`, what survives a restart: the order as it is, the proposal and the run, in one record."""
        if self._records:
            query = {"_id": ObjectId(waiting.arguments["id"]), "owner": self._owner, "deletedAt": None}
            before = await self._orders.find_one(query, dict.fromkeys(_FIELDS, 1))
            await self._record("update_work_order", waiting.arguments, before=before, state=waiting.state())

    async def _record(self, tool: str, arguments: dict[str, Any], **more: Any) -> None:
        digest = hashlib.sha256(json.dumps(arguments).encode()).hexdigest()
        record = {"tool": tool, "args": arguments, "argsHash": digest, "createdAt": datetime.now(UTC)}
        await self._calls.insert_one(record | more)


def measure(make_run: Callable[[OrderTool], Run]) -> None:
    """Prints the milliseconds of one step: of a read, or with `STAGE=1` of a write up to where it waits."""
    print(json.dumps(asyncio.run(_measured(make_run))))


async def _measured(make_run: Callable[[OrderTool], Run]) -> float:
    tool = OrderTool()
    run = make_run(tool)
    return await (_staged(tool, run) if os.environ["STAGE"] == "1" else _read(run))


async def _read(run: Run) -> float:
    """A run with `STEPS` reads less one with none, divided by them."""
    steps = int(os.environ["STEPS"])
    await run("bench steps=1")
    samples = []
    for _ in range(_REPEATS):
        whole, empty = await _seconds(run, f"bench steps={steps}"), await _seconds(run, "bench steps=0")
        samples.append((whole - empty) * 1000 / steps)
    return sorted(samples)[len(samples) // 2]


async def _staged(tool: OrderTool, run: Run) -> float:
    """From the result of a read to the proposal that waits, in `STEPS` runs; the first one warms."""
    samples = []
    for _ in range(int(os.environ["STEPS"]) + 1):
        waiting = await run("bench writes=1")
        if waiting is None:
            raise RuntimeError("the run did not wait for an approval")
        await tool.keep(waiting)
        samples.append((time.perf_counter() - tool.returned_at) * 1000)
    return sorted(samples[1:])[len(samples[1:]) // 2]


async def _seconds(run: Run, message: str) -> float:
    started = time.perf_counter()
    await run(message)
    return time.perf_counter() - started
