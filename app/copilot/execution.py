"""Running what was approved: exactly what was shown, exactly once, by whoever is still allowed to (D-5, D-8)."""

from __future__ import annotations

import time
from typing import Any

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.accounts.service import AccountsService
from app.copilot.events import EventLog
from app.copilot.staging import GONE, Staging
from app.copilot.telling import tell
from app.core.canonical import sha256_hex
from app.core.errors import AppError
from app.core.logging import get_logger
from app.runs.models import AgentToolCall
from app.runs.service import RunService
from app.tools.confirmed_read import staged_by
from app.tools.gate import CallContext
from app.tools.gatekeeper import Gatekeeper
from app.tools.policy import Tier
from app.tools.registry import ToolRegistry
from app.tools.tool import Executed, GoneTarget, RunsOnce, Staged, StaleTarget, Tool, ToolFault, WriteTool

log = get_logger(__name__)

UNKNOWN_OUTCOME = "OUTCOME_UNKNOWN"
_UNKNOWN = (
    "The desk was interrupted while this was being sent: it may or may not have arrived, and it is not sent again."
    " Look at the other system before asking anew."
)
_MOVED = "The work order changed after this was asked for. Nothing was changed; it has to be asked for anew."


class Execution:
    """Executes approved calls. A retry after a crash meets the first try's effect and completes its record."""

    def __init__(
        self,
        runs: RunService,
        registry: ToolRegistry,
        gatekeeper: Gatekeeper,
        staging: Staging,
        *,
        accounts: AccountsService,
        events: EventLog,
    ) -> None:
        self._runs = runs
        self._registry = registry
        self._gatekeeper = gatekeeper
        self._staging = staging
        self._accounts = accounts
        self._events = events

    async def execute(self, call_id: ObjectId, by: str) -> AgentToolCall | None:
        """The call after its execution: final, or a new pending one where the target moved (D-7).

        `by` names the executing lease. None when another process executes it at this moment.
        """
        call = await self._runs.lease_execution(call_id, by)
        if call is None:
            known = await self._runs.call(call_id)
            return None if known.outcome == "approved" else known
        started = time.monotonic()
        try:
            executed = await self._run(call)
        except StaleTarget:
            return await self._stale(call)
        except (GoneTarget, ToolFault, AppError) as fault:
            return await self._fail(call, *_told(call, fault))
        return await self._complete(call, executed, started)

    async def restage(self, call: AgentToolCall, expected: str) -> AgentToolCall:
        """A proposal whose target moved, made anew with the person's present role."""
        actor, tool = await self._admit(call)
        return await self._staging.restage(call, tool, actor, expected)

    async def complete_restaging(self, stale: AgentToolCall) -> None:
        """A stale call was to be replaced: makes sure that it was, whatever broke off. Raises `ToolFault`."""
        if stale.superseded_by is None:
            return
        if await self._runs.has_call(stale.superseded_by):
            await self._runs.repark(stale.run_id, stale.id, stale.superseded_by)
        else:
            await self.restage(stale, "stale")

    async def _run(self, call: AgentToolCall) -> Executed:
        actor, tool = await self._admit(call)
        if call.attempt > 1 and isinstance(tool, RunsOnce) and tool.runs_once(call.args or {}):
            raise ToolFault(_UNKNOWN, UNKNOWN_OUTCOME)
        return await tool.execute(actor, _as_staged(call), call.id)

    async def _admit(self, call: AgentToolCall) -> tuple[HumanActor, WriteTool]:
        """The policy once more, at the moment of running, with the role that the person has now."""
        tool = self._registry.get(call.tool)
        if tool is None:
            raise ToolFault("This tool is not there any more. Nothing was changed.")
        if call.args is None or sha256_hex(call.args) != call.args_hash:
            raise ToolFault("The arguments are not those that were shown. Nothing was changed.")
        actor = await self._accounts.actor(call.user_id) if call.user_id else None
        if actor is None:
            raise ToolFault("The person's account is no longer active. Nothing was changed.")
        await self._judge(call, tool, actor)
        return actor, staged_by(tool)

    async def _judge(self, call: AgentToolCall, tool: Tool, actor: HumanActor) -> None:
        """Raises `ToolFault` where the gate asks for more by now than the person, or the dispatcher, gave (T-12)."""
        by_operator = call.review_id is not None
        context = CallContext(
            "copilot",
            actor.role,
            by="operator" if by_operator else "model",
            delegated=bool((call.decision or {}).get("delegated")),
        )
        decision = await self._gatekeeper.judge(tool, tool.arguments.model_validate(call.args), context)
        if decision.blocked is not None:
            raise ToolFault(f"{decision.blocked} Nothing was changed.")
        if decision.tier > (Tier.REVIEW if by_operator else Tier.CONFIRM):
            raise ToolFault(f"{decision.denial} Nothing was changed.", "POLICY_DENIED")

    async def _stale(self, call: AgentToolCall) -> AgentToolCall:
        if call.review_id is not None:
            return await self._fail(call, "STALE_TARGET", _MOVED)
        try:
            return await self.restage(call, "approved")
        except ToolFault as fault:
            return await self._fail(call, fault.code, fault.message)

    async def _complete(self, call: AgentToolCall, executed: Executed, started: float) -> AgentToolCall:
        target = executed.result.get("id") if isinstance(executed.result, dict) else None
        return await self._end(
            call,
            "executed",
            result=executed.result,
            executed_version=executed.version,
            executed_hash=call.args_hash,
            reads={target: executed.version}
            if target and executed.version and "deleted" not in executed.result
            else executed.reads,
            latency_ms=round((time.monotonic() - started) * 1000),
        )

    async def _fail(self, call: AgentToolCall, code: str, message: str) -> AgentToolCall:
        return await self._end(call, "error", code=code, result={"code": code, "message": message})

    async def _end(self, call: AgentToolCall, outcome: str, **fields: Any) -> AgentToolCall:
        moved = await self._runs.move_call(call.id, "approved", outcome, **fields)
        ended = moved or await self._runs.call(call.id)
        await tell(self._events, ended)
        return ended


def _told(call: AgentToolCall, fault: GoneTarget | ToolFault | AppError) -> tuple[str, str]:
    """Code and words of what kept an approved call from its effect."""
    if isinstance(fault, GoneTarget):
        return "NOT_FOUND", GONE
    if isinstance(fault, AppError):
        log.warning("approved_call_failed", call_id=str(call.id), code=fault.code)
    return fault.code, fault.message


def _as_staged(call: AgentToolCall) -> Staged:
    if call.target_id is None:
        raise ValueError("a staged call names its target")
    return Staged(
        args=call.args or {},
        target=call.target_id,
        version=call.staged_version,
        pre_image=call.pre_image,
        after_diff=call.after_diff or {},
        summary=call.approval.summary if call.approval else "",
    )
