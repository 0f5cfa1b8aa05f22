"""Deciding: one conditional update, one winner, everybody told the same (003 §4.6, D-6)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NoReturn

from bson import ObjectId

from app.accounts.people import Person
from app.copilot.confirmation import ConfirmationTokens, token_hash
from app.copilot.decided import AlreadyDecided
from app.copilot.endings import Endings
from app.copilot.engine import RunEngine
from app.copilot.events import EventLog
from app.copilot.execution import Execution
from app.copilot.schemas import Decision
from app.copilot.telling import approval_of, tell
from app.core.clock import Clock
from app.core.errors import Conflict, Forbidden, NotFound
from app.runs.errors import ApprovalExpired, ApprovalResolved, ApprovalStale
from app.runs.models import AgentToolCall
from app.runs.service import RunService
from app.tools.tool import ToolFault
from app.work_orders.errors import OrderNotFound
from app.work_orders.outcomes import AlreadyApplied
from app.work_orders.schemas import Mark
from app.work_orders.service import WorkOrderService

MAX_EXTENSIONS = 10
AI_IS_OFF = "AI was switched off for your account, so this proposal is closed. You can make the change yourself."
_SHOWN = 50
_DECIDED = ("approved", "executed", "rejected", "expired", "stale", "aborted", "error")


class Approvals:
    """Decide, extend, undo, list. The person must own the call; wrong ids and wrong tokens look alike."""

    def __init__(
        self,
        runs: RunService,
        engine: RunEngine,
        execution: Execution,
        endings: Endings,
        *,
        events: EventLog,
        tokens: ConfirmationTokens,
        orders: WorkOrderService,
        clock: Clock,
        ttl_ms: int,
    ) -> None:
        self._runs = runs
        self._engine = engine
        self._execution = execution
        self._endings = endings
        self._events = events
        self._tokens = tokens
        self._orders = orders
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._waking: set[asyncio.Task[None]] = set()

    async def get(self, person: Person, call_id: ObjectId) -> AgentToolCall:
        """A staged call of the person. Raises `NotFound`, `Forbidden` (D-6's order)."""
        call = await self._runs.call(call_id)
        if call.approval is None:
            raise NotFound("There is no such proposal.")
        if call.user_id != person.id:
            raise Forbidden("Only the person who asked for this can decide it.")
        return call

    def token(self, call: AgentToolCall) -> str:
        """The confirmation token of a pending call, for its owner's eyes."""
        return self._tokens.token(call)

    async def decide(self, person: Person, call_id: ObjectId, decision: Decision) -> AgentToolCall:
        """Approves or rejects, without waiting for the effect.

        Raises, in D-6's order: `NotFound` (unknown id, wrong token), `Forbidden` (not the owner), `ApprovalResolved`
        (decided otherwise, or the run has ended), `ApprovalExpired`, `Forbidden` (AI is off for the person: what waits
        is void), `ApprovalStale` (staged anew).
        """
        call = await self._runs.call(call_id)
        given = decision.confirmation_token
        if call.approval is None or (given is not None and not self._tokens.matches(call, given)):
            raise NotFound("There is no such proposal.")
        if call.user_id != person.id:
            raise Forbidden("Only the person who asked for this can decide it.")
        try:
            return await self._decide(person, call, decision)
        except AlreadyDecided as known:
            if known.agrees(approve=decision.approve):
                return known.call
            raise known.refusal() from None

    async def by_token(self, person: Person, token: str) -> AgentToolCall:
        """The person's staged call that `token` stands for, in whatever state. Raises `NotFound` (T-12)."""
        call = await self._runs.call_by_token_hash(token_hash(token))
        if call is None or call.user_id != person.id or not self._tokens.matches(call, token):
            raise NotFound("There is no such proposal.")
        return call

    async def confirm(self, person: Person, decision: Decision) -> AgentToolCall:
        """Spends the decision's confirmation token, once: there is no second answer to it (T-12).

        Raises `NotFound` (unknown, or another person's), `ApprovalResolved` (spent), and what `decide` raises.
        """
        call = await self.by_token(person, decision.confirmation_token or "")
        try:
            return await self._decide(person, call, decision)
        except AlreadyDecided as known:
            raise known.refusal() from None

    async def extend(self, person: Person, call_id: ObjectId) -> AgentToolCall:
        """One more time-to-live, at most ten times; the event is told again (D-30, WCAG 2.2.1)."""
        call = await self.get(person, call_id)
        if call.outcome == "expired":
            raise ApprovalExpired
        if call.outcome != "pending":
            raise ApprovalResolved
        await self._check_time(call)
        extended = await self._runs.extend_call(call_id, person.id, self._ttl_ms, MAX_EXTENSIONS)
        if extended is None or extended.approval is None:
            raise Conflict("This was extended as often as it can be. Decide, or ask again.")
        await self._events.append(call.run_id, approval_of(extended), again=f":{extended.approval.extensions}")
        return extended

    async def undo(self, person: Person, call_id: ObjectId) -> AgentToolCall:
        """Takes an executed write back, unless the order moved on. Itself in the order's history; once (D-30, D-5)."""
        call = await self._runs.call(call_id)
        if call.approval is None or (call.user_id != person.id and person.role != "admin"):
            raise NotFound("There is no such change.")
        if call.outcome != "executed" or call.target_id is None:
            raise Conflict("Only a change that was made can be undone.")
        mark = Mark(f"{call.id}:undo", "undo")
        with contextlib.suppress(AlreadyApplied):
            await self._orders.undo(person.actor, call.target_id, str(call.id), mark=mark)
        await self._runs.mark_undone(call_id)
        return await self._runs.call(call_id)

    async def pending(self, person: Person) -> list[AgentToolCall]:
        """What awaits the person, newest first."""
        now = self._clock.now()
        calls = await self._runs.approvals_of(person.id, ("pending",), _SHOWN)
        return [call for call in calls if call.approval and call.approval.expires_at > now]

    async def decided(self, person: Person) -> list[AgentToolCall]:
        """What was decided lately, newest first."""
        return await self._runs.approvals_of(person.id, _DECIDED, _SHOWN)

    async def close(self) -> None:
        """Waits for decisions that are being carried to their runs."""
        if self._waking:
            await asyncio.wait(self._waking, timeout=5)

    # -- inside ------------------------------------------------------------------------------------------------

    async def _decide(self, person: Person, call: AgentToolCall, decision: Decision) -> AgentToolCall:
        """Decides a call of the person. Raises `AlreadyDecided`, and what `decide` raises."""
        if call.outcome != "pending":
            raise AlreadyDecided(call)
        try:
            await self._check_time(call)
        except (ApprovalExpired, ApprovalResolved):
            present = await self._runs.call(call.id)
            if present.outcome in ("pending", "expired"):
                raise
            raise AlreadyDecided(present) from None  # decided elsewhere since it was read, and the turn is over already
        if decision.approve and not person.ai_on:
            await self._void_without_ai(call)
        if decision.approve and await self._target_moved(person, call):
            await self._stage_anew(call)
        return await self._claim(person, call, decision)

    async def _check_time(self, call: AgentToolCall) -> None:
        """By the server's clock only; a run that is over decides nothing any more."""
        if call.approval is None or call.approval.expires_at <= self._clock.now():
            await self._endings.expire(call)
            raise ApprovalExpired
        run = await self._runs.get(call.run_id)
        if run.status == "expired":
            raise ApprovalExpired
        if run.status != "running":
            raise ApprovalResolved("The turn that proposed this has ended. Nothing was run.")

    async def _void_without_ai(self, call: AgentToolCall) -> NoReturn:
        """Raises `Forbidden`: AI was switched off for the person, so the turn ends and what waits is void (SEC-8).

        Unless it was decided elsewhere at the same moment: `AlreadyDecided`.
        """
        await self._engine.stop(call.run_id, "AI is off for the person")
        present = await self._runs.call(call.id)
        if present.outcome not in ("pending", "aborted"):
            raise AlreadyDecided(present)
        raise Forbidden(AI_IS_OFF)

    async def _target_moved(self, person: Person, call: AgentToolCall) -> bool:
        if call.staged_version is None or call.target_id is None:
            return False
        try:
            order = await self._orders.get(person.actor, call.target_id)
        except OrderNotFound:
            return True
        return order.version != call.staged_version

    async def _stage_anew(self, call: AgentToolCall) -> NoReturn:
        """Raises `ApprovalStale`: nothing ran, and there is a new proposal, or the call has ended (D-7).

        Unless the order moved by this very call, approved elsewhere at the same moment: `AlreadyDecided`.
        """
        try:
            fresh = await self._execution.restage(call, "pending")
        except ToolFault as fault:
            raise ApprovalStale(fault.message) from None
        if fresh.id == call.id and fresh.approval and fresh.approval.status != "stale":
            raise AlreadyDecided(fresh)
        if fresh.outcome != "pending":
            self._wake(call.run_id, call.id)
            raise ApprovalStale("The work order is no longer there, or needs no change now. Nothing was run.")
        raise ApprovalStale

    async def _claim(self, person: Person, call: AgentToolCall, decision: Decision) -> AgentToolCall:
        now = self._clock.now()
        reason = decision.reason or None
        fields: dict[str, object] = {"approval_decided_by": str(person.id), "approval_decided_at": now}
        if not decision.approve:
            told = f"The person rejected this. Reason: {reason}" if reason else "The person rejected this."
            fields |= {"approval_reason": reason, "result": told}
        claimed = await self._runs.decide_call(
            call.id, person.id, "approved" if decision.approve else "rejected", fields
        )
        if claimed is None:  # somebody was faster: tell what they decided
            return await self._decide(person, await self._runs.call(call.id), decision)
        if not decision.approve:
            await tell(self._events, claimed)
        self._wake(call.run_id, call.id)
        return claimed

    def _wake(self, run_id: ObjectId, call_id: ObjectId) -> None:
        task = asyncio.create_task(self._engine.wake(run_id, call_id), name=f"wake-{run_id}")
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)
