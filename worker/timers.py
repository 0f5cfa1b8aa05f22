"""What a worker does by the clock, whether Redis is there or not (D-24)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.core.logging import get_logger

log = get_logger(__name__)

_LONGEST_S = 300.0


@dataclass(frozen=True, slots=True)
class Timer:
    """Does `work` at once and then `every_s` seconds after it ended. A failure is logged and waited out."""

    name: str
    every_s: float
    work: Callable[[], Awaitable[object]]

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_LONGEST_S):
                    await self.work()
            except Exception as error:  # a passing fault of a store must not end the timer
                log.warning("timer_failed", timer=self.name, error=type(error).__name__)
            await asyncio.sleep(self.every_s)
