"""The nudge: JSON in Redis, one job at a time, and never in the way (D-24)."""

from __future__ import annotations

import json
import time

from app.core.mongo import Database
from app.core.queue import Nudge, open_job_pool, queue_name
from app.local.ports import free_port
from tests.conftest import Stores


async def test_many_nudges_are_one_job_and_it_is_json(database: Database, stores: Stores) -> None:
    """D-24: nothing in Redis is pickled; a waiting job is not put there twice."""
    prefix = f"desk:{stores.database}"
    nudge, pool = Nudge(stores.redis_url, prefix), open_job_pool(stores.redis_url, prefix)
    try:
        for _ in range(5):
            await nudge.send()
        assert await pool.zcard(queue_name(prefix)) == 1
        stored = await pool.get(f"arq:job:{prefix}:triage_drain")
        assert json.loads(stored)["f"] == "triage_drain"
    finally:
        await nudge.aclose()
        await pool.aclose(close_connection_pool=True)


async def test_a_nudge_without_redis_fails_quietly_and_only_once_in_a_while() -> None:
    """D-24: creating an order neither fails nor gets slow."""
    nudge = Nudge(f"redis://127.0.0.1:{free_port()}/0", "desk:nowhere")
    started = time.monotonic()
    for _ in range(50):
        await nudge.send()
    assert time.monotonic() - started < 2
    await nudge.aclose()
