"""The yardstick of triage: bare `find_one_and_update` claims. `python -m bench.claims`, prints how many it made.

As many lanes at once as a worker has, with the desk's own write concern, index and fields; nothing is done with an
event beyond taking it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from datetime import UTC, datetime, timedelta

import uvloop

from app.core.mongo import Database, open_mongo

_LEASE = timedelta(seconds=60)
_MARGIN_S = 0.05


async def _lane(database: Database) -> int:
    events, made = database["outboxevents"], 0
    while True:
        now, claim = datetime.now(UTC), secrets.token_hex(12)
        row = await events.find_one_and_update(
            {"availableAt": {"$lte": now}},
            {
                "$set": {"status": "processing", "availableAt": now + _LEASE, "claim": claim, "claimedAt": now},
                "$inc": {"attempts": 1},
            },
            sort=[("availableAt", 1)],
        )
        if row is None:
            return made
        made += 1


async def until_start() -> None:
    """Waits for the moment at which all workers begin: just after the events are due, for timers may be early."""
    await asyncio.sleep(max(0.0, float(os.environ["START_AT"]) + _MARGIN_S - time.time()))


async def _run() -> int:
    async with open_mongo(os.environ["MONGODB_URI"], os.environ["MONGODB_DB"]) as database:
        await database.command("ping")
        await until_start()
        return sum(await asyncio.gather(*(_lane(database) for _ in range(int(os.environ["AGENT_CONCURRENCY"])))))


if __name__ == "__main__":
    print(uvloop.run(_run()))
