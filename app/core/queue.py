"""The job queue in Redis: wake-ups only, JSON only (D-24). MongoDB holds what must not be lost."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from arq.connections import ArqRedis
from redis.asyncio import ConnectionPool
from redis.exceptions import RedisError

from app.core.clock import monotonic_ms
from app.core.logging import get_logger

log = get_logger(__name__)

TRIAGE_DRAIN = "triage_drain"

_SEND_S = 0.5
_QUIET_MS = 5_000
_JOB_KEPT_MS = 60_000


def queue_name(prefix: str) -> str:
    """The queue of the desk whose Redis keys begin with `prefix`."""
    return f"{prefix}:jobs"


def to_json(value: Any) -> bytes:
    """A job as it lies in Redis: pickle there would run the code of whoever can write to it."""
    return json.dumps(value, default=str).encode()


def from_json(value: bytes) -> Any:
    return json.loads(value)


def open_job_pool(url: str, prefix: str) -> ArqRedis:
    """arq's client with bounded waits; it connects at first use. Close it with `aclose(close_connection_pool=True)`."""
    pool: Any = ConnectionPool.from_url(
        url, socket_connect_timeout=2, socket_timeout=3, health_check_interval=30, max_connections=32
    )
    return ArqRedis(
        pool,
        job_serializer=to_json,
        job_deserializer=from_json,
        default_queue_name=queue_name(prefix),
        expires_extra_ms=_JOB_KEPT_MS,
    )


class Nudge:
    """Tells the workers that there is something to do. A lost nudge costs one poll interval, never an event."""

    def __init__(self, url: str, prefix: str) -> None:
        self._pool = open_job_pool(url, prefix)
        self._job_id = f"{prefix}:{TRIAGE_DRAIN}"
        self._quiet_until = 0.0

    async def send(self) -> None:
        """Puts one drain job into the queue unless one is there already. Never raises, never takes long.

        After a failure it stays quiet for five seconds: without Redis, creating orders must not get slow.
        """
        if monotonic_ms() < self._quiet_until:
            return
        try:
            async with asyncio.timeout(_SEND_S):
                await self._pool.enqueue_job(TRIAGE_DRAIN, _job_id=self._job_id)
        except (RedisError, OSError, TimeoutError) as error:
            self._quiet_until = monotonic_ms() + _QUIET_MS
            log.warning("nudge_failed", error=type(error).__name__)

    async def aclose(self) -> None:
        await self._pool.aclose(close_connection_pool=True)
