"""Counters in Redis for rate limits; hits that come together share one trip (HTTP-4)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from limits.aio.storage import RedisStorage
from redis.asyncio import BlockingConnectionPool, Redis

_COUNT_ALL = """
local counts = {}
for i, key in ipairs(KEYS) do
  local amount = tonumber(ARGV[2 * i])
  counts[i] = redis.call("INCRBY", key, amount)
  if counts[i] == amount then redis.call("EXPIRE", key, ARGV[2 * i - 1]) end
end
return counts
"""


@dataclass(frozen=True, slots=True)
class _Hit:
    key: str
    expiry: int
    amount: int
    count: asyncio.Future[int]


class SharedCounts(RedisStorage):
    """One trip is under way at a time; who comes meanwhile is in the next. Waits are those of the `pool`."""

    def __init__(self, redis_url: str, pool: BlockingConnectionPool) -> None:
        super().__init__(
            f"async+{redis_url}",
            implementation="redispy",
            connection_pool=pool,  # type: ignore[arg-type]  # documented, but missing in its annotation
        )
        self._count_all = Redis(connection_pool=pool).register_script(_COUNT_ALL)
        self._waiting: list[_Hit] = []
        self._trips: asyncio.Task[None] | None = None

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Adds `amount` to the counter `key`, which lives `expiry` seconds from its first hit; the new count."""
        hit = _Hit(self.bridge.prefixed_key(key), expiry, amount, asyncio.get_running_loop().create_future())
        self._waiting.append(hit)
        if self._trips is None:
            self._trips = asyncio.create_task(self._make_trips())
        return await hit.count

    async def _make_trips(self) -> None:
        try:
            while self._waiting:
                hits, self._waiting = self._waiting, []
                await self._count(hits)
        finally:
            self._trips = None

    async def _count(self, hits: list[_Hit]) -> None:
        """Settles each of `hits`, be it with what went wrong."""
        try:
            arguments = [value for hit in hits for value in (hit.expiry, hit.amount)]
            counts = await self._count_all([hit.key for hit in hits], arguments)
        except BaseException as error:
            for hit in hits:
                if not hit.count.done():
                    hit.count.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for hit, count in zip(hits, counts, strict=True):
            if not hit.count.done():
                hit.count.set_result(int(count))
