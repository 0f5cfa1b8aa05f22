"""The sweep, which is part of correctness: it completes what a dead process left behind (003 §4.5, D-1, D-5)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable

from bson import ObjectId

from app.copilot.endings import Endings
from app.copilot.engine import RunEngine
from app.copilot.execution import Execution
from app.copilot.reviewing import Reviewing
from app.core.logging import get_logger
from app.governance.spend import SpendLedger
from app.runs.service import RunService

log = get_logger(__name__)

_AT_ONCE = 100


class Sweeper:
    """Looks now and then, in every process: each repair has one winner."""

    def __init__(
        self,
        engine: RunEngine,
        runs: RunService,
        execution: Execution,
        endings: Endings,
        *,
        reviewing: Reviewing,
        ledger: SpendLedger,
        every_ms: int,
    ) -> None:
        self._engine = engine
        self._runs = runs
        self._execution = execution
        self._endings = endings
        self._reviewing = reviewing
        self._ledger = ledger
        self._every_s = every_ms / 1000

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The engine's life in a program, with the sweep beside it."""
        async with self._engine.running():
            task = asyncio.create_task(self._sweep_forever(), name="run-sweeper")
            try:
                yield
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def sweep(self) -> None:
        """Expires overdue approvals, wakes runs whose decision was made, finishes or ends what died."""
        for call in await self._runs.overdue_calls(_AT_ONCE):
            await _apart(self._endings.expire(call))
        for run_id, call_id in await self._runs.parked(_AT_ONCE):
            await _apart(self._engine.look_after_parked(run_id, call_id))
        for run_id in await self._runs.adrift(_AT_ONCE):
            await _apart(self._engine.adopt(run_id))
        for call in await self._runs.unfinished_approved(_AT_ONCE):
            await _apart(self._finish_orphan(call.run_id, call.id))
        await _apart(self._reviewing.sweep())
        await self._ledger.settle_leftovers()

    async def _finish_orphan(self, run_id: ObjectId, call_id: ObjectId) -> None:
        """An approved call whose run has ended all the same: it is finished, for the record (D-5)."""
        if (await self._runs.get(run_id)).status != "running":
            await self._execution.execute(call_id, f"sweep:{run_id}")

    async def _sweep_forever(self) -> None:
        while True:
            try:
                await self.sweep()
            except Exception as error:  # a passing fault of a store must not end the sweeper
                log.warning("sweep_failed", error=type(error).__name__)
            await asyncio.sleep(self._every_s)


async def _apart(work: Awaitable[object]) -> None:
    """One record that cannot be swept must not keep the sweep from the others."""
    try:
        await work
    except Exception as error:
        log.warning("sweep_of_one_failed", error=type(error).__name__)
