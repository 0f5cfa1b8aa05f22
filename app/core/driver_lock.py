"""A fault of the MongoDB driver on Python 3.11, mended here until the driver or that Python is gone.

`pymongo.lock` waits with `asyncio.wait_for`, which before Python 3.12 may lose a cancellation that meets the wake-up:
the lock is then given up without having been taken, and every later query of the process waits for ever. So a query
cancelled while MongoDB is away (a person who leaves, a time-out) could hang the desk after MongoDB is back.
`asyncio.timeout` has no such gap.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

import pymongo.lock

T = TypeVar("T")


async def _wait_for(awaitable: Awaitable[T], timeout: float | None) -> T:  # noqa: ASYNC109 - the driver's own shape
    async with asyncio.timeout(timeout):
        return await awaitable


def mend_driver_lock() -> None:
    """Replaces the driver's waiting on Python 3.11; does nothing elsewhere, or where the driver has changed."""
    if sys.version_info < (3, 12) and hasattr(pymongo.lock, "wait_for"):
        pymongo.lock.wait_for = _wait_for
