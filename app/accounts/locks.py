"""One at a time across processes, for writes that look at several people (AUTH-9)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from app.accounts.session_repository import LockRepository
from app.core.errors import Unavailable
from app.core.ids import new_token

_LEASE = timedelta(seconds=20)
_WAIT_S = 10.0
_WORK_S = 10.0
"""Half the lease: whoever holds the lock is stopped long before another may take it."""


class LeasedLock:
    """A lock kept in MongoDB. What a dead process held is free again after its lease."""

    def __init__(self, locks: LockRepository, name: str) -> None:
        self._locks = locks
        self._name = name

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Holds the lock. Raises `Unavailable` when it cannot be had, or the work takes too long."""
        holder = new_token()
        await self._take(holder)
        try:
            async with asyncio.timeout(_WORK_S):
                yield
        except TimeoutError:
            raise Unavailable("This took too long. Look whether it was done, and try again.") from None
        finally:
            await asyncio.shield(self._locks.free(self._name, holder))

    async def _take(self, holder: str) -> None:
        try:
            async with asyncio.timeout(_WAIT_S):
                # Another process frees the lock: only asking again can tell.
                while not await self._locks.take(self._name, holder, _LEASE):  # noqa: ASYNC110 - see above
                    await asyncio.sleep(random.uniform(0.01, 0.05))  # noqa: S311 - spreads the waiting, no secret
        except TimeoutError:
            raise Unavailable("Another dispatcher is changing roles right now. Try again in a moment.") from None
