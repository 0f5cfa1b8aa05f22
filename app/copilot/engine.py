"""The runs that this process carries on: one task each, with a heartbeat, ended properly whatever happens (D-1).

Also the sweep, which is part of correctness: it completes what a dead process left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from bson import ObjectId

from app.accounts.service import AccountsService
from app.copilot.endings import Endings
from app.copilot.execution import Execution
from app.copilot.loop import Ending, RunLoop, Waiting
from app.core.logging import get_logger
from app.core.settings import Settings
from app.governance.errors import BudgetExceeded
from app.governance.spend import SpendLedger
from app.llm.port import ProviderUnavailable
from app.runs.errors import LeaseLostError
from app.runs.models import AgentRun
from app.runs.service import RunService

log = get_logger(__name__)

_AT_ONCE = 100
_SHUTDOWN_S = 5.0


class RunEngine:
    """Starts, wakes, stops and sweeps runs."""

    def __init__(
        self,
        runs: RunService,
        loop: RunLoop,
        execution: Execution,
        endings: Endings,
        *,
        accounts: AccountsService,
        ledger: SpendLedger,
        settings: Settings,
    ) -> None:
        self._runs = runs
        self._loop = loop
        self._execution = execution
        self._endings = endings
        self._accounts = accounts
        self._ledger = ledger
        self._heartbeat_s = settings.agent_lease_ms / 3000
        self._sweep_s = settings.agent_sweep_interval_ms / 1000
        self._tasks: dict[ObjectId, asyncio.Task[None]] = {}
        self._closing = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The engine's life in a program: sweeps now and then; at the end gives working runs a moment to finish."""
        sweeper = asyncio.create_task(self._sweep_forever(), name="run-sweeper")
        try:
            yield
        finally:
            self._closing = True
            sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sweeper
            await self._finish_tasks()

    def carry_on(self, run: AgentRun) -> None:
        """Works on a run that this process holds, in the background."""
        run_id = run.id
        task = asyncio.create_task(self._drive(run), name=f"run-{run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    async def wake(self, run_id: ObjectId, call_id: ObjectId) -> None:
        """The decision on `call_id` is made: takes the run and carries it on, unless another process does."""
        await self._runs.wake(run_id, call_id)
        if taken := await self._runs.take(run_id):
            self.carry_on(taken[0])

    async def stop(self, run_id: ObjectId, reason: str) -> None:
        """Ends a run: at once where this process works on it or nobody does, else at its holder's next heartbeat."""
        await self._runs.ask_to_stop(run_id, reason)
        task = self._tasks.get(run_id)
        if task is not None:
            task.cancel("stop")
        else:
            await self._stop_unheld(run_id)

    async def stop_all_of(self, user_id: ObjectId, reason: str) -> None:
        """Logout, demotion, deactivation: the person's run ends, pending approvals are void (AUTH-6, AUTH-9)."""
        if run := await self._runs.working_of(user_id):
            await self.stop(run.id, reason)

    async def stop_all(self, reason: str) -> int:
        """The kill switch over everything: every working run ends, what is approved first (D-18, D-5); how many."""
        stopped = 0
        while run_ids := await self._runs.unstopped(_AT_ONCE):
            for run_id in run_ids:
                await self.stop(run_id, reason)
            stopped += len(run_ids)
        return stopped

    # -- one run -----------------------------------------------------------------------------------------------

    async def _drive(self, run: AgentRun) -> None:
        advance = asyncio.create_task(self._advance(run))
        heartbeat = asyncio.create_task(self._beat(run, advance))
        try:
            await asyncio.shield(advance)
        except asyncio.CancelledError:
            advance.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await advance
            await self._end_cancelled(run)
        except LeaseLostError:
            log.info("run_lease_lost", run_id=str(run.id))
        except Exception as error:  # the last line of defence: a run never hangs on a fault of ours
            log.exception("run_failed", run_id=str(run.id), error=type(error).__name__)
            await self._end(run, Ending("error", "INTERNAL"))
        finally:
            heartbeat.cancel()

    async def _advance(self, run: AgentRun) -> None:
        try:
            person = await self._accounts.active_person(run.user_id) if run.user_id else None
            outcome: Ending | Waiting = (
                await self._loop.advance(run, person) if person else Ending("aborted", "ABORTED")
            )
        except ProviderUnavailable as error:
            log.warning("provider_unavailable", run_id=str(run.id), reason=error.reason)
            outcome = Ending("error", "AI_UNAVAILABLE")
        except BudgetExceeded:
            outcome = Ending("budget_exceeded", "AI_BUDGET_EXCEEDED")
        if isinstance(outcome, Waiting):
            await self._park(run, outcome.call_id)
        else:
            await self._endings.end_held(run, outcome)

    async def _park(self, run: AgentRun, call_id: ObjectId) -> None:
        """Waits for a decision, which may have come in this very moment: then nobody else would wake the run."""
        await self._runs.park(run, call_id)
        call = await self._runs.call(call_id)
        if call.outcome == "stale" and call.superseded_by:
            await self._runs.repark(run.id, call_id, call.superseded_by)
        elif call.outcome != "pending":
            await self._runs.wake(run.id, call_id)
            if taken := await self._runs.take(run.id):
                await self._advance(taken[0])

    async def _beat(self, run: AgentRun, advance: asyncio.Task[None]) -> None:
        """Renews the lease every third of it, and sees a stop that was asked for elsewhere."""
        while True:
            await asyncio.sleep(self._heartbeat_s)
            try:
                held = await self._runs.renew(run)
            except LeaseLostError:
                advance.cancel()
                return
            if held.stop is not None:
                task = self._tasks.get(run.id)
                if task is not None:
                    task.cancel("stop")
                return

    async def _end_cancelled(self, run: AgentRun) -> None:
        """Cancelled by a stop: the run is aborted. By a lost lease or a shutdown: it is left to whoever finds it."""
        present = await self._runs.get(run.id)
        if present.stop is not None or self._closing:
            await self._end(present if present.fence == run.fence else run, Ending("aborted", "ABORTED"))

    async def _end(self, run: AgentRun, ending: Ending) -> None:
        with contextlib.suppress(LeaseLostError):
            await self._endings.end_held(run, ending)

    async def _stop_unheld(self, run_id: ObjectId) -> None:
        run = await self._runs.get(run_id)
        if run.status != "running":
            return
        if run.parked_on is not None:
            call = await self._runs.call(run.parked_on)
            if call.outcome == "approved":
                return  # what is approved is finished first; the run sees the stop afterwards (D-5)
        await self._endings.end_unheld(run_id, Ending("aborted", "ABORTED"))

    async def _finish_tasks(self) -> None:
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_SHUTDOWN_S)
            for task in late:
                task.cancel("shutdown")
            if late:
                await asyncio.wait(late, timeout=_SHUTDOWN_S)

    # -- the sweep ---------------------------------------------------------------------------------------------

    async def _sweep_forever(self) -> None:
        while True:
            try:
                await self.sweep()
            except Exception as error:  # a passing fault of a store must not end the sweeper
                log.warning("sweep_failed", error=type(error).__name__)
            await asyncio.sleep(self._sweep_s)

    async def sweep(self) -> None:
        """Expires overdue approvals, wakes runs whose decision was made, finishes or ends what died (003 §4.5)."""
        for call in await self._runs.overdue_calls(_AT_ONCE):
            await self._endings.expire(call)
        for run_id, call_id in await self._runs.parked(_AT_ONCE):
            await self._look_after_parked(run_id, call_id)
        for run_id in await self._runs.adrift(_AT_ONCE):
            await self.adopt(run_id)
        for call in await self._runs.unfinished_approved(_AT_ONCE):
            await self._finish_orphan(call.run_id, call.id)
        await self._ledger.settle_leftovers()

    async def _look_after_parked(self, run_id: ObjectId, call_id: ObjectId) -> None:
        call = await self._runs.call(call_id)
        if call.outcome == "stale" and call.superseded_by:
            await self._runs.repark(run_id, call_id, call.superseded_by)
        elif call.outcome != "pending":
            await self.wake(run_id, call_id)

    async def adopt(self, run_id: ObjectId) -> None:
        """A run that nobody holds: goes on where a decision was just made or is unfinished, else ends as error."""
        if run_id in self._tasks or (taken := await self._runs.take(run_id)) is None:
            return
        held, was_free = taken
        unfinished = any(call.outcome == "approved" for call in await self._runs.calls_of([run_id]))
        if was_free or unfinished:
            self.carry_on(held)
        else:
            await self._end(held, Ending("error", "INTERNAL"))

    async def _finish_orphan(self, run_id: ObjectId, call_id: ObjectId) -> None:
        """An approved call whose run has ended all the same: it is finished, for the record (D-5)."""
        if (await self._runs.get(run_id)).status != "running":
            await self._execution.execute(call_id, f"sweep:{run_id}")
