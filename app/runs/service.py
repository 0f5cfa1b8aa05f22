"""The record of what agents do: the only door to runs, messages and calls.

Working runs move by fenced steps (D-1); calls move between outcomes with one winner each (D-6).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from app.core.clock import Clock
from app.core.errors import NotFound
from app.core.schemas import OffsetPage
from app.runs import present
from app.runs.call_repository import CallRepository
from app.runs.errors import LeaseLostError, MessageDuplicate, RunInProgress
from app.runs.models import AgentMessage, AgentRun, AgentToolCall, Step
from app.runs.repository import RunRepository
from app.runs.rows import NewRun, ending_fields, message_row, moved_fields, pushing, run_row
from app.runs.schemas import AgentRunPublic, DailyRuns, RunDetail, RunMode, RunStatus

_MESSAGES_SHOWN = 1_000


class RunService:
    """Runs and their calls. `lease_ms` is how long a working run may be silent (AGENT_LEASE_MS)."""

    def __init__(self, runs: RunRepository, calls: CallRepository, clock: Clock, lease_ms: int) -> None:
        self._runs = runs
        self._calls = calls
        self._clock = clock
        self._lease = timedelta(milliseconds=lease_ms)

    # -- starting and stepping ---------------------------------------------------------------------------------

    async def start(self, new: NewRun) -> AgentRun:
        """Inserts a run, already leased to the caller. Raises `MessageDuplicate` (D-17) or `RunInProgress` (D-26)."""
        run = run_row(new, self._clock.now(), self._clock.now() + self._lease)
        try:
            await self._runs.insert(run)
        except DuplicateKeyError:
            if new.user_id and new.idempotency_key:
                await self.refuse_duplicate(new.user_id, new.idempotency_key)
            raise RunInProgress from None
        started: AgentRun = AgentRun.model_validate(run)
        if new.mode != "autonomous":  # whose beginning is copied with its first answer: one write less
            await self._project(started)
        return started

    async def refuse_duplicate(self, user_id: ObjectId, key: str) -> None:
        """Raises `MessageDuplicate` when this key already started a run."""
        if found := await self._runs.by_idempotency_key(user_id, key):
            raise MessageDuplicate(str(found))

    async def working_of(self, user_id: ObjectId) -> AgentRun | None:
        """The person's run that is not finished."""
        return await self._runs.working_of(user_id)

    async def take(self, run_id: ObjectId) -> tuple[AgentRun, bool] | None:
        """Leases a run that may go on, and tells whether it was free (woken), not left behind by a dead process.

        None when somebody holds it, or it waits, or it ended.
        """
        now = self._clock.now()
        return await self._runs.take(run_id, now, now + self._lease)

    async def renew(self, run: AgentRun) -> AgentRun:
        """Keeps the lease, and tells what was asked of the run meanwhile. Raises `LeaseLostError`."""
        return await self._step(run, {})

    async def commit(
        self,
        run: AgentRun,
        steps: Sequence[Step],
        *,
        counted: dict[str, float] | None = None,
    ) -> AgentRun:
        """One step: the transcript grows, counters move, in one fenced update. Raises `LeaseLostError`."""
        update = pushing(steps)
        if counted:
            update["$inc"] = counted
        after = await self._step(run, {}, update)
        await self._copy(after, len(steps), first=after.step_count <= 1)
        return after

    async def park(self, run: AgentRun, call_id: ObjectId) -> AgentRun:
        """The run waits for the decision on `call_id`; no process holds it. Raises `LeaseLostError`."""
        return await self._step(run, {"parkedOn": call_id, "leaseUntil": None})

    async def repark(self, run_id: ObjectId, old: ObjectId, new: ObjectId) -> None:
        """A stale call was staged anew: the run waits for the new one (D-7)."""
        await self._runs.repark(run_id, old, new, self._clock.now())

    async def wake(self, run_id: ObjectId, call_id: ObjectId) -> bool:
        """The decision is made: the run is free to be taken."""
        return await self._runs.wake(run_id, call_id, self._clock.now())

    async def finish(
        self, run: AgentRun, status: RunStatus, error_code: str | None = None, last: Sequence[Step] = ()
    ) -> AgentRun:
        """Ends a run that the caller holds, with its `last` steps. Raises `LeaseLostError`."""
        after = await self._step(run, ending_fields(status, error_code, self._clock.now()), pushing(last))
        await self._copy(after, len(last), first=after.step_count == 0)
        return after

    def is_held(self, run: AgentRun) -> bool:
        """Whether a process works on `run` at this moment."""
        return run.lease_until is not None and run.lease_until >= self._clock.now()

    async def finish_unheld(
        self, run_id: ObjectId, status: RunStatus, error_code: str | None, last: Sequence[Step] = ()
    ) -> AgentRun | None:
        """Ends a run that nobody holds, with its `last` steps; None when somebody does, or it has ended."""
        after = await self._runs.finish_unheld(
            run_id, self._clock.now(), ending_fields(status, error_code, self._clock.now()), pushing(last)
        )
        if after is not None:
            await self._copy(after, len(last), first=True)
        return after

    async def ask_to_stop(self, run_id: ObjectId, reason: str) -> bool:
        return await self._runs.ask_to_stop(run_id, reason, self._clock.now())

    # -- calls -------------------------------------------------------------------------------------------------

    async def keep_call(self, call: AgentToolCall, *, waits: bool = True) -> AgentToolCall:
        """Puts `call` on record; met again after a crash, the one that is there stands.

        Without `waits` it is sure to be on disk only when the caller's next write is that waits for it.
        """
        document = {"_id": call.id} | call.model_dump(by_alias=True, exclude={"id"})
        return call if await self._calls.insert(document, waits=waits) else await self.call(call.id)

    async def call(self, call_id: ObjectId) -> AgentToolCall:
        """Raises `NotFound`."""
        found = await self._calls.get(call_id)
        if found is None:
            raise NotFound("There is no such proposal.")
        return found

    async def call_by_token_hash(self, token_hash: str) -> AgentToolCall | None:
        """The staged call whose confirmation token has this SHA-256, in hex (T-12)."""
        return await self._calls.by_token_hash(token_hash)

    async def has_call(self, call_id: ObjectId) -> bool:
        return await self._calls.get(call_id) is not None

    async def move_call(self, call_id: ObjectId, expected: str, outcome: str, **fields: Any) -> AgentToolCall | None:
        """A staged call from one outcome to the next, for one winner; its approval's status follows. Else None.

        `fields` are attributes of `AgentToolCall`, or of its approval with the prefix `approval_`.
        """
        return await self._calls.move(call_id, expected, moved_fields(outcome, fields, self._clock.now()))

    async def decide_call(
        self, call_id: ObjectId, user_id: ObjectId, outcome: str, fields: dict[str, Any]
    ) -> AgentToolCall | None:
        """The person's decision, where the call still waits and is in time: one winner (D-6)."""
        now = self._clock.now()
        values = moved_fields(outcome, fields, self._clock.now())
        return await self._calls.move(
            call_id, "pending", values, userId=user_id, **{"approval.expiresAt": {"$gt": now}}
        )

    async def lease_execution(self, call_id: ObjectId, by: str) -> AgentToolCall | None:
        """Takes an approved call for execution; None when another has it."""
        now = self._clock.now()
        return await self._calls.lease_execution(call_id, by, now, now + self._lease)

    async def extend_call(self, call_id: ObjectId, user_id: ObjectId, by_ms: int, most: int) -> AgentToolCall | None:
        """Gives a pending call `by_ms` more, at most `most` times; None when it is not pending, over, or spent."""
        return await self._calls.extend(call_id, user_id, self._clock.now(), by_ms, most)

    async def overdue_calls(self, limit: int) -> list[AgentToolCall]:
        """Pending calls past their expiry."""
        return await self._calls.overdue(self._clock.now(), limit)

    async def unfinished_approved(self, limit: int) -> list[AgentToolCall]:
        """Approved calls that nobody executes any more."""
        return await self._calls.unfinished_approved(self._clock.now(), limit)

    async def approvals_of(self, user_id: ObjectId, outcomes: Sequence[str], limit: int) -> list[AgentToolCall]:
        """The person's staged calls with one of `outcomes`, newest first."""
        return await self._calls.of_user(user_id, outcomes, limit)

    async def count_pending(self, user_id: ObjectId) -> int:
        return await self._calls.count_pending(user_id)

    async def spend_preview(self, run_id: ObjectId, handshake_hash: str, by: ObjectId) -> AgentToolCall | None:
        """Uses up an approved preview of this run with these arguments; None when there is none (T-10)."""
        return await self._calls.spend_preview(run_id, handshake_hash, by, self._clock.now())

    async def mark_undone(self, call_id: ObjectId) -> None:
        await self._calls.mark_undone(call_id, self._clock.now())

    # -- finding -----------------------------------------------------------------------------------------------

    async def get(self, run_id: ObjectId) -> AgentRun:
        """Raises `NotFound`."""
        run = await self._runs.get(run_id)
        if run is None:
            raise NotFound("There is no such run.")
        return run

    async def own(self, user_id: ObjectId, run_id: ObjectId) -> AgentRun:
        """The person's own run; another's is not there (SEC-14)."""
        run = await self.get(run_id)
        if run.user_id != user_id:
            raise NotFound("There is no such run.")
        return run

    async def adrift(self, limit: int, mode: RunMode = "copilot") -> list[ObjectId]:
        """Working runs of `mode` that no process holds, at most `limit`."""
        return await self._runs.adrift(self._clock.now(), limit, mode)

    async def unstopped(self, limit: int, mode: RunMode = "copilot") -> list[ObjectId]:
        """Working runs of `mode` that nobody has asked to stop, at most `limit`."""
        return await self._runs.unstopped(mode, limit)

    async def parked(self, limit: int) -> list[tuple[ObjectId, ObjectId]]:
        return await self._runs.parked(limit)

    async def of_session(self, session_id: ObjectId, limit: int) -> list[AgentRun]:
        return await self._runs.of_session(session_id, limit)

    async def titles(self, run_ids: Sequence[ObjectId]) -> dict[str, str]:
        """What the person asked in each run, by run id."""
        return await self._runs.first_words({"_id": {"$in": list(run_ids)}}, "_id")

    async def session_titles(self, session_ids: Sequence[ObjectId]) -> dict[str, str]:
        """What each session began with, by session id."""
        return await self._runs.first_words({"sessionId": {"$in": list(session_ids)}}, "sessionId")

    async def messages_of(self, run_ids: Sequence[ObjectId]) -> list[AgentMessage]:
        return await self._runs.messages(run_ids, _MESSAGES_SHOWN)

    async def calls_of(self, run_ids: Sequence[ObjectId]) -> list[AgentToolCall]:
        return await self._calls.of_runs(run_ids, _MESSAGES_SHOWN)

    async def records(self, query: dict[str, Any], page: int, limit: int) -> tuple[list[AgentRun], int]:
        """One page of runs as they are stored, newest first, without transcripts; and how many there are."""
        rows, total = await self._runs.page(query, (page - 1) * limit, limit)
        return [AgentRun.model_validate(row) for row in rows], total

    async def page(self, query: dict[str, Any], page: int, limit: int) -> OffsetPage[AgentRunPublic]:
        """Runs, newest first (D-30)."""
        rows, total = await self.records(query, page, limit)
        return OffsetPage[AgentRunPublic](items=[present.run(row) for row in rows], page=page, limit=limit, total=total)

    async def daily(self, mode: RunMode, since: datetime) -> list[DailyRuns]:
        """How many runs of `mode` each UTC day since then had, by status."""
        return await self._runs.daily(mode, since)

    async def own_page(self, user_id: ObjectId, page: int, limit: int) -> OffsetPage[AgentRunPublic]:
        return await self.page({"userId": user_id}, page, limit)

    async def detail(self, run: AgentRun) -> RunDetail:
        """The run with its messages and calls."""
        return RunDetail(
            run=present.run(run),
            messages=[present.message(message) for message in await self.messages_of([run.id])],
            tool_calls=[present.tool_call(call) for call in await self.calls_of([run.id])],
        )

    # -- inside ------------------------------------------------------------------------------------------------

    async def _step(self, run: AgentRun, fields: dict[str, Any], update: dict[str, Any] | None = None) -> AgentRun:
        now = self._clock.now()
        settings = {"leaseUntil": now + self._lease, "updatedAt": now} | fields
        after = await self._runs.fenced(run, {"$set": settings} | (update or {}))
        if after is None:
            raise LeaseLostError
        return after

    async def _copy(self, run: AgentRun, new: int, *, first: bool) -> None:
        """Copies the `new` last steps; `first`: of the triage agent's run all, for nothing of it is sure to be."""
        whole = first and run.mode == "autonomous"
        await self._project(run, since=0 if whole else len(run.transcript) - new)

    async def _project(self, run: AgentRun, since: int = 0) -> None:
        await self._runs.project_messages([message_row(run, seq) for seq in range(max(0, since), len(run.transcript))])
