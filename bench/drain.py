"""What the outbox itself costs: `python -m bench.drain` claims and settles, and has nothing to do in between.

The real lanes of the worker over the real outbox, with the desk's own settings; prints how many events it settled.
"""

from __future__ import annotations

import asyncio
import os

import uvloop

from app.core.clock import SystemClock
from app.core.mongo import open_mongo
from app.outbox.repository import OutboxRepository
from app.outbox.service import OutboxService
from bench.claims import until_start
from worker.lanes import Bell, Lane

_LEASE_MS, _ATTEMPTS, _POLL_S = 15_000, 3, 5.0


class Instant:
    """Settles what it claims at once; `dry` is set when nothing is due any more."""

    def __init__(self, outbox: OutboxService) -> None:
        self._outbox = outbox
        self.dry = asyncio.Event()
        self.made = 0

    async def run_next(self) -> bool | None:
        claimed = await self._outbox.claim(1, _LEASE_MS)
        if not claimed:
            self.dry.set()
            return None
        self.made += await self._outbox.done(claimed[0], "done")
        return True


async def _run() -> int:
    async with open_mongo(os.environ["MONGODB_URI"], os.environ["MONGODB_DB"]) as database:
        await database.command("ping")
        handler = Instant(OutboxService(OutboxRepository(database), SystemClock(), max_attempts=_ATTEMPTS))
        bell = Bell()
        lanes = [Lane(handler, bell, _POLL_S) for _ in range(int(os.environ["AGENT_CONCURRENCY"]))]
        await until_start()
        async with asyncio.TaskGroup() as running:
            for lane in lanes:
                running.create_task(lane.run())
            await handler.dry.wait()
            for lane in lanes:
                lane.stop()
            bell.ring()
        return handler.made


if __name__ == "__main__":
    print(uvloop.run(_run()))
