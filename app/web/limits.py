"""Rate limits that hold across processes: windows in Redis, each limit with its own bucket (HTTP-4).

Without Redis each process counts alone, in memory, and `/ready` says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import FixedWindowRateLimiter
from redis.asyncio import BlockingConnectionPool
from redis.exceptions import RedisError

from app.core.errors import RateLimited
from app.core.logging import get_logger
from app.web.shared_counts import SharedCounts

log = get_logger(__name__)

_RETRY_REDIS_AFTER_S = 5.0


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` per `window_s` seconds for each key; `name` is the bucket."""

    name: str
    most: int
    window_s: int


class RateLimiter:
    """Counts hits per limit and key. `hit` raises `RateLimited` with the seconds to wait."""

    def __init__(self, redis_url: str, prefix: str) -> None:
        self._prefix = prefix
        self._pool = BlockingConnectionPool.from_url(
            redis_url, max_connections=32, timeout=1, socket_connect_timeout=1, socket_timeout=1
        )
        self._shared = FixedWindowRateLimiter(SharedCounts(redis_url, self._pool))
        self._alone = FixedWindowRateLimiter(MemoryStorage())
        self._items: dict[Limit, RateLimitItemPerSecond] = {}
        self._redis_down_until = 0.0

    async def close(self) -> None:
        """Gives the connections back (shutdown)."""
        await self._pool.aclose()

    async def hit(self, limit: Limit, key: str) -> None:
        """Counts one hit of `key`. Raises `RateLimited` past the limit."""
        item = self._items.get(limit) or self._remembered(limit)
        if time.monotonic() >= self._redis_down_until:
            try:
                await self._hit(self._shared, item, limit, key)
            except (RedisError, OSError, TimeoutError):
                self._redis_down_until = time.monotonic() + _RETRY_REDIS_AFTER_S
                log.warning("rate_limits_count_alone", limit=limit.name)
            else:
                return
        await self._hit(self._alone, item, limit, key)

    def _remembered(self, limit: Limit) -> RateLimitItemPerSecond:
        item = RateLimitItemPerSecond(limit.most, limit.window_s, namespace=self._prefix)
        return self._items.setdefault(limit, item)

    async def _hit(self, limiter: FixedWindowRateLimiter, item: RateLimitItemPerSecond, limit: Limit, key: str) -> None:
        if not await limiter.hit(item, limit.name, key):
            window = await limiter.get_window_stats(item, limit.name, key)
            raise RateLimited(int(window.reset_time - time.time()) + 1)
