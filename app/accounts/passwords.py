"""Password hashes: argon2id; bcrypt of an older desk still verifies (AUTH-12). Never on the event loop."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from typing import TypeVar

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from pwdlib.hashers.bcrypt import BcryptHasher

from app.core.errors import Unavailable

T = TypeVar("T")

_BCRYPT_BYTES = 72
_WAIT_S = 15.0


class Passwords:
    """Hashes and verifies in threads, as many at once as there are cores.

    `computations` counts the hashes computed since the start: tests compare the work of each way to fail (AUTH-2).
    """

    def __init__(self) -> None:
        self._argon2, self._bcrypt = Argon2Hasher(), BcryptHasher()
        self._hash = PasswordHash((self._argon2, self._bcrypt))
        self._nobody = self._hash.hash(secrets.token_urlsafe(16))
        self._free = asyncio.Semaphore(os.cpu_count() or 1)
        self.computations = 0

    async def hash(self, password: str) -> str:
        """An argon2id hash. Raises `Unavailable` when too many wait."""
        return await self._in_thread(lambda: self._hash.hash(password))

    async def verify(self, password: str, stored: str | None) -> bool:
        """Whether `password` made `stored`. One hash is computed in every case, also for nobody's (None)."""
        known = stored if stored is not None and self._recognises(stored) else None
        matches = await self._in_thread(lambda: self._verify(password, known or self._nobody))
        return matches and known is not None

    def is_outdated(self, stored: str) -> bool:
        """Whether `stored` should be replaced at the next sign-in."""
        return not self._argon2.identify(stored) or self._argon2.check_needs_rehash(stored)

    def _recognises(self, stored: str) -> bool:
        return self._argon2.identify(stored) or self._bcrypt.identify(stored)

    def _verify(self, password: str, stored: str) -> bool:
        if self._bcrypt.identify(stored):  # bcrypt reads 72 bytes; the older desk cut there, the library refuses more
            return self._bcrypt.verify(password.encode()[:_BCRYPT_BYTES], stored)
        return self._hash.verify(password, stored)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(_WAIT_S):
                await self._free.acquire()
        except TimeoutError:
            raise Unavailable("Too many people are signing in right now. Try again in a moment.") from None
        try:
            self.computations += 1
            return await asyncio.to_thread(work)
        finally:
            self._free.release()
