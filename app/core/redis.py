"""The Redis (Valkey) client of a process: event streams, rate limits, wake-ups. MongoDB holds the truth."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError

RedisClient = Redis


@asynccontextmanager
async def open_redis(url: str) -> AsyncIterator[RedisClient]:
    """A client with bounded waits; it connects at first use, so the desk starts without Redis."""
    client: RedisClient = Redis.from_url(
        url,
        decode_responses=True,
        socket_connect_timeout=3,
        socket_timeout=5,
        health_check_interval=30,
        max_connections=128,
    )
    try:
        yield client
    finally:
        await client.aclose()


async def redis_answers(client: RedisClient) -> bool:
    """Whether Redis answers a ping."""
    try:
        return bool(await client.ping())
    except (RedisError, OSError, TimeoutError):
        return False
