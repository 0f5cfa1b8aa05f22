"""The runs that this process carries on: one task each, with a heartbeat, ended properly whatever happens (D-1)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from bson import ObjectId

from app.accounts.service import AccountsService
from app.copilot.endings import Endings
from app.copilot.execution import Execution
from app.copilot.expiry import ExpiryTimers
from app.copilot.hub import EventHub
from app.copilot.loop import Ending, RunLoop, Waiting, to_its_end
from app.copilot.presence import Presence
from app.core.clock import Clock
from app.core.logging import get_logger
from app.core.settings import Settings
from app.governance.errors import BudgetExceeded
from app.llm.port import ProviderUnavailable
from app.runs.errors import LeaseLostError
from app.runs.models import AgentRun, AgentToolCall
from app.runs.service import RunService
from app.tools.tool import ToolFault

log = get_logger(__name__)

_AT_ONCE = 100
_SHUTDOWN_S = 5.0
_QUICKEST_S = 0.5


class RunEngine:
    """Starts, wakes, stops and adopts runs."""

    def __init__(
        self,
        runs: RunService,
        loop: RunLoop,
        execution: Execution,
        endings: Endings,
        *,
        accounts: AccountsService,
        presence: Presence,
        hub: EventHub,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._runs = runs
        self._loop = loop
        self._execution = execution
        self._endings = endings
        self._accounts = accounts
        self._presence = presence
        self._expiries = ExpiryTimers(runs, endings, clock)
        self._hub = hub
        hub.on_stop(self._stop_here)
        self._grace_s = settings.ai_disconnect_grace_ms / 1000
        self._heartbeat_s = min(settings.agent_lease_ms / 3000, max(self._grace_s / 4, _QUICKEST_S))
        self._tasks: dict[ObjectId, asyncio.Task[None]] = {}
        self._closing = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The engine's life in a program; at the end it gives working runs a moment to finish."""
        try:
            yield
        finally:
            self._closing = True
            await self._finish_tasks()
            await self._expiries.close()

    def carry_on(self, run: AgentRun, *, attended: bool = False) -> None:
        """Works on a run that this process holds, in the background. An attended one has somebody who watches (D-3)."""
        task = asyncio.create_task(self._drive(run, attended=attended), name=f"run-{run.id}")
        self._tasks[run.id] = task
        task.add_done_callback(lambda done: self._forget(run.id, done))

    def _forget(self, run_id: ObjectId, done: asyncio.Task[None]) -> None:
        if self._tasks.get(run_id) is done:
            del self._tasks[run_id]

    async def wake(self, run_id: ObjectId, call_id: ObjectId) -> None:
        """The decision on `call_id` is made: takes the run and carries it on, unless another process does."""
        await self._runs.wake(run_id, call_id)
        if taken := await self._runs.take(run_id):
            self.carry_on(taken[0])

    async def stop(self, run_id: ObjectId, reason: str) -> None:
        """Ends a run at once, whoever works on it; what is approved is finished first (D-3, D-5)."""
        await self._runs.ask_to_stop(run_id, reason)
        if run_id in self._tasks:
            self._stop_here(run_id)
        else:
            await self._stop_unheld(run_id)
            await self._hub.tell_stop(run_id)

    def _stop_here(self, run_id: ObjectId) -> None:
        if task := self._tasks.get(run_id):
            task.cancel("stop")

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

    async def _drive(self, run: AgentRun, *, attended: bool) -> None:
        try:
            outcome = await self._advanced(run, attended=attended)
            await to_its_end(self._conclude(run, outcome))
        except asyncio.CancelledError:
            await self._end_cancelled(run)
        except LeaseLostError:
            log.info("run_lease_lost", run_id=str(run.id))
        except Exception as error:  # the last line of defence: a run never hangs on a fault of ours
            log.exception("run_failed", run_id=str(run.id), error=type(error).__name__)
            await self._end(run, Ending("error", "INTERNAL"))

    async def _advanced(self, run: AgentRun, *, attended: bool) -> Ending | Waiting:
        """The loop with the heartbeat beside it. A lost lease ends the work, and is raised."""
        work = asyncio.create_task(self._work(run))
        over = asyncio.Event()
        heartbeat = asyncio.create_task(self._beat(run, over, attended=attended))
        try:
            await asyncio.wait({work, heartbeat}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                heartbeat.result()
            return await work
        finally:
            over.set()
            work.cancel()
            await asyncio.wait({work, heartbeat})

    async def _work(self, run: AgentRun) -> Ending | Waiting:
        person = await self._accounts.active_person(run.user_id) if run.user_id else None
        if person is None:
            return Ending("aborted", "ABORTED")
        try:
            return await self._loop.advance(run, person)
        except ProviderUnavailable as error:
            log.warning("provider_unavailable", run_id=str(run.id), reason=error.reason)
            return Ending("error", "AI_UNAVAILABLE")
        except BudgetExceeded:
            return Ending("budget_exceeded", "AI_BUDGET_EXCEEDED")

    async def _conclude(self, run: AgentRun, outcome: Ending | Waiting) -> None:
        if isinstance(outcome, Waiting):
            await self._park(run, outcome.call_id)
        else:
            await self._endings.end_held(run, outcome)

    async def _park(self, run: AgentRun, call_id: ObjectId) -> None:
        """Waits for a decision, which may have come in this very moment: then nobody else would wake the run."""
        await self._runs.park(run, call_id)
        self._expiries.start(call_id)
        await self.look_after_parked(run.id, call_id)

    async def _beat(self, run: AgentRun, over: asyncio.Event, *, attended: bool) -> None:
        """Renews the lease every third of it. Raises `LeaseLostError`, and `CancelledError` for a stop asked elsewhere.

        An attended run is stopped when its last watcher has been gone for the grace (D-3). Ends by `over`, not by
        being cancelled: on Python 3.11 a cancellation that meets the driver's answer is lost, and the run would hang.
        """
        alone_since: float | None = None
        while not await _set_within(over, self._heartbeat_s):
            held = await self._runs.renew(run)
            if held.stop is not None:
                raise asyncio.CancelledError
            if not attended or await self._presence.anyone(run.id):
                alone_since = None
                continue
            now = asyncio.get_running_loop().time()
            alone_since = alone_since or now
            if now - alone_since >= self._grace_s:
                await self._runs.ask_to_stop(run.id, "disconnect")
                raise asyncio.CancelledError

    async def _end_cancelled(self, run: AgentRun) -> None:
        """Cancelled by a stop: the run is aborted. By a shutdown: so too, unless it waits for a decision."""
        present = await self._runs.get(run.id)
        if present.status != "running":
            return
        if present.parked_on is not None:
            if present.stop is not None:
                await self._stop_unheld(run.id)
        elif present.stop is not None or self._closing:
            await self._end(run, Ending("aborted", "ABORTED"))

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

    # -- runs that nobody holds --------------------------------------------------------------------------------

    async def look_after_parked(self, run_id: ObjectId, call_id: ObjectId) -> None:
        """Carries on, or ends, a run whose decision was made while nobody listened."""
        call = await self._runs.call(call_id)
        if call.outcome == "stale" and call.superseded_by:
            await self._follow_successor(call)
        elif call.outcome == "expired":
            await self._endings.end_unheld(run_id, Ending("expired", "AI_APPROVAL_EXPIRED"))
        elif call.outcome != "pending":
            await self.wake(run_id, call_id)

    async def _follow_successor(self, call: AgentToolCall) -> None:
        """The run of a stale call waits for the new one, which is made now if a crash came between."""
        try:
            await self._execution.complete_restaging(call)
        except ToolFault:
            await self._endings.end_unheld(call.run_id, Ending("error", "INTERNAL"))

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


async def _set_within(event: asyncio.Event, timeout_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()
