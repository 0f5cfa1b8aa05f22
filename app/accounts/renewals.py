"""Silent renewal for pages: one rotation when many requests of one browser arrive at once (AUTH-5)."""

from __future__ import annotations

import asyncio

from app.accounts.sessions import Device, Sessions, SignedIn
from app.core.ids import token_hash


class Renewals:
    """Requests that bring the same refresh token while it is being rotated share the outcome.

    Across processes the grace of AUTH-4 does the same with a sibling token.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._running: dict[str, asyncio.Task[SignedIn]] = {}

    async def renew(self, refresh_token: str, device: Device) -> SignedIn:
        """Raises `Unauthorized` or `RefreshReuse`."""
        key = token_hash(refresh_token)
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._sessions.rotate(refresh_token, device))
            self._running[key] = task
            task.add_done_callback(lambda done: self._landed(key, done))
        return await asyncio.shield(task)

    def _landed(self, key: str, task: asyncio.Task[SignedIn]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # seen, also when every request that waited for it has gone
