"""Work that goes on after the answer, so that its time tells nobody anything (AUTH-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from app.core.logging import get_logger

log = get_logger(__name__)

_MOST = 200
_EACH_S = 60.0


class AfterTheAnswer:
    """A bounded set of running tasks; each has a time-out, and its failure is logged by type only."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Runs `work` in the background, or drops it when too much is running already."""
        if len(self._tasks) >= _MOST:
            work.close()
            log.warning("background_work_dropped", work=name)
            return
        task = asyncio.create_task(_guarded(name, work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, within_s: float = 10.0) -> None:
        """Waits for what is running; what takes longer is cancelled."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


async def _guarded(name: str, work: Coroutine[Any, Any, None]) -> None:
    try:
        async with asyncio.timeout(_EACH_S):
            await work
    except Exception as fault:
        log.error("background_work_failed", work=name, error=type(fault).__name__)
