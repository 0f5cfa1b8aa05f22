"""Whether anybody watches a run: a dropped connection is no stop, a person who is gone for good is one (D-3).

Each watcher is a member of a sorted set in Redis, good until a moment that it keeps moving on. A process that dies
takes its watchers along when their time is up.
"""

from __future__ import annotations

import contextlib
import secrets
import time

from bson import ObjectId
from redis.exceptions import RedisError

from app.core.redis import RedisClient


class Presence:
    """Watchers of runs across processes. `kept_ms` is how long one counts that was not heard of."""

    def __init__(self, redis: RedisClient, prefix: str, kept_ms: int) -> None:
        self._redis = redis
        self._prefix = prefix
        self._kept_s = kept_ms / 1000

    async def enter(self, run_id: ObjectId) -> str:
        """A new watcher's name."""
        watcher = secrets.token_hex(8)
        await self.stay(run_id, watcher)
        return watcher

    async def stay(self, run_id: ObjectId, watcher: str) -> None:
        """The watcher is still there. Losing Redis only makes runs outlive their watchers."""
        key = self._key(run_id)
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.zadd(key, {watcher: time.time() + self._kept_s})
                pipe.expire(key, round(self._kept_s) + 60)
                await pipe.execute()

    async def leave(self, run_id: ObjectId, watcher: str) -> None:
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            await self._redis.zrem(self._key(run_id), watcher)

    async def anyone(self, run_id: ObjectId) -> bool:
        """Whether somebody watches; without Redis nobody can tell, so yes."""
        try:
            return bool(await self._redis.zcount(self._key(run_id), time.time(), "+inf"))
        except (RedisError, OSError, TimeoutError):
            return True

    def _key(self, run_id: ObjectId) -> str:
        return f"{self._prefix}:run:{run_id}:watchers"
