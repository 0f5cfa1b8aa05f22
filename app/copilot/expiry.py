"""Proposals end on time: a timer in the process that staged one, with the sweep behind it for all others (003 §4.6)."""

from __future__ import annotations

import asyncio
import contextlib

from bson import ObjectId
from pymongo.errors import PyMongoError

from app.copilot.endings import Endings
from app.core.clock import Clock
from app.core.errors import NotFound
from app.runs.service import RunService

_MARGIN_S = 0.05
_LONGEST_S = 3600.0
_MOST = 1_000


class ExpiryTimers:
    """One sleeping task for each proposal, at most 1,000; what finds no room waits for the sweep."""

    def __init__(self, runs: RunService, endings: Endings, clock: Clock) -> None:
        self._runs = runs
        self._endings = endings
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, call_id: ObjectId) -> None:
        """Expires `call_id` when its time is over, extensions included, unless it is decided before."""
        if len(self._tasks) < _MOST:
            task = asyncio.create_task(self._wait(call_id), name=f"expiry-{call_id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _wait(self, call_id: ObjectId) -> None:
        with contextlib.suppress(PyMongoError, NotFound):  # the sweep comes later
            while True:
                call = await self._runs.call(call_id)
                if call.outcome != "pending" or call.approval is None:
                    return
                left = (call.approval.expires_at - self._clock.now()).total_seconds()
                if left <= 0:
                    await self._endings.expire(call)
                    return
                await asyncio.sleep(min(left, _LONGEST_S) + _MARGIN_S)
