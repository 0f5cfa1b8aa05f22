"""The yardstick of triage: bare `find_one_and_update` claims. `python -m bench.claims`, prints how many it made.

As many lanes at once as a worker has, with the desk's own write concern, index and fields; nothing is done with an
event beyond taking it (`SETTLE=1`: and settling it).
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


async def _lane(database: Database, settle: bool) -> int:
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
        if settle:
            done = {
                "$set": {"status": "done", "updatedAt": datetime.now(UTC)},
                "$unset": {"availableAt": "", "claim": ""},
            }
            await events.update_one({"_id": row["_id"], "claim": claim}, done)


async def _run() -> int:
    lanes, settle = int(os.environ["AGENT_CONCURRENCY"]), os.environ.get("SETTLE") == "1"
    async with open_mongo(os.environ["MONGODB_URI"], os.environ["MONGODB_DB"]) as database:
        await database.command("ping")
        await asyncio.sleep(max(0.0, float(os.environ["START_AT"]) - time.time()))
        return sum(await asyncio.gather(*(_lane(database, settle) for _ in range(lanes))))


if __name__ == "__main__":
    print(uvloop.run(_run()))
