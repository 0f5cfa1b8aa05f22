"""Rate limits across processes, without Redis, and by the right client address (HTTP-4), from outside over HTTP."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from redis.asyncio import BlockingConnectionPool
from redis.exceptions import ConnectionError  # noqa: A004 - of Redis

from app.core.mongo import Database
from app.core.settings import Settings
from app.main import create_app
from app.web.shared_counts import SharedCounts
from tests.conftest import serving

MOST = 3
NOWHERE = "redis://127.0.0.1:1/0"

Open = Callable[..., Awaitable[httpx.AsyncClient]]


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_enabled": False, "rate_limit_max": MOST}


@pytest.fixture
async def open_desk_at(database: Database, settings: Settings) -> AsyncIterator[Open]:
    """`await open_desk_at(trust_proxy_hops=1)` is a client of one more program of this desk."""
    async with AsyncExitStack() as stack:

        async def opened(**changes: Any) -> httpx.AsyncClient:
            url = await stack.enter_async_context(serving(create_app(settings.model_copy(update=changes))))
            return await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=15))

        yield opened


async def spend(*clients: httpx.AsyncClient, **headers: str) -> list[int]:
    """The statuses of `MOST` + 1 requests, spread over `clients`."""
    return [
        (await clients[turn % len(clients)].get("/api/v1/users/me", headers=headers)).status_code
        for turn in range(MOST + 1)
    ]


async def test_the_overall_limit_holds_across_two_programs(open_desk_at: Open) -> None:
    """HTTP-4: with the seconds to wait, as JSON and as a page; health and files are free."""
    one, other = await open_desk_at(), await open_desk_at()
    assert await spend(one, other) == [401, 401, 401, 429]
    refused, page = await one.get("/api/v1/users/me"), await other.get("/login")
    assert (refused.json()["error"]["code"], page.status_code) == ("RATE_LIMITED", 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 61
    assert int(page.headers["retry-after"]) >= 1
    for path in ("/health", "/ready", "/static/icon.svg"):
        assert (await one.get(path)).status_code == 200


async def test_without_redis_each_program_counts_alone_and_says_so(open_desk_at: Open) -> None:
    """HTTP-4, HTTP-1"""
    one, other = await open_desk_at(redis_url=NOWHERE), await open_desk_at(redis_url=NOWHERE)
    assert await spend(one) == [401, 401, 401, 429]
    assert await spend(other) == [401, 401, 401, 429]
    ready = await one.get("/ready")
    assert (ready.status_code, ready.json()["status"], ready.json()["missing"]) == (503, "degraded", ["redis"])


@pytest.mark.parametrize(
    ("hops", "forwarded", "same_client"),
    [
        (0, ("203.0.113.1", "203.0.113.2"), True),
        (1, ("203.0.113.1", "203.0.113.2"), False),
        (1, ("6.6.6.6, 203.0.113.1", "7.7.7.7, 203.0.113.1"), True),
        (2, ("203.0.113.1, 10.0.0.1", "203.0.113.2, 10.0.0.1"), False),
        (2, ("6.6.6.6, 203.0.113.1, 10.0.0.1", "7.7.7.7, 203.0.113.1, 10.0.0.1"), True),
        (1, ("not an address", "nor this"), True),
    ],
)
async def test_the_client_is_found_behind_trusted_proxies_and_never_taken_from_its_own_word(
    open_desk_at: Open, hops: int, forwarded: tuple[str, str], same_client: bool
) -> None:
    """HTTP-4: TRUST_PROXY_HOPS counts from the right."""
    client = await open_desk_at(trust_proxy_hops=hops)
    assert await spend(client, **{"X-Forwarded-For": forwarded[0]}) == [401, 401, 401, 429]
    answer = await client.get("/api/v1/users/me", headers={"X-Forwarded-For": forwarded[1]})
    assert answer.status_code == (429 if same_client else 401)


async def test_hits_that_come_together_are_each_counted_once(settings: Settings) -> None:
    """HTTP-4: they share their trips to Redis, and nothing else."""
    pool = BlockingConnectionPool.from_url(settings.redis_url)
    counts, name = SharedCounts(settings.redis_url, pool), uuid.uuid4().hex
    keys = [f"{name}-{number % 3}" for number in range(60)]
    async with asyncio.timeout(10):
        seen = await asyncio.gather(*(counts.incr(key, 60) for key in keys))
    by_key = {key: sorted(count for k, count in zip(keys, seen, strict=True) if k == key) for key in keys}
    assert list(by_key.values()) == [list(range(1, 21))] * 3
    assert 58 <= await counts.get_expiry(keys[0]) - time.time() <= 61
    await pool.aclose()


async def test_without_redis_every_hit_that_waits_is_told() -> None:
    """HTTP-4: none is left waiting; one that gave up disturbs no other."""
    counts = SharedCounts(NOWHERE, BlockingConnectionPool.from_url(NOWHERE))
    async with asyncio.timeout(10):
        hits = [asyncio.ensure_future(counts.incr("anyone", 60)) for _ in range(5)]
        hits[0].cancel()
        told = await asyncio.gather(*hits, return_exceptions=True)
    assert [type(answer) for answer in told] == [asyncio.CancelledError, *[ConnectionError] * 4]
