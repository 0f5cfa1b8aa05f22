"""Running what was approved: exactly what was shown, exactly once, by whoever is still allowed to (D-5, D-8)."""

from __future__ import annotations

import time
from typing import Any, cast

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
from app.tools.policy import CallContext, decide
from app.tools.registry import ToolRegistry
from app.tools.tool import Executed, GoneTarget, Staged, StaleTarget, ToolFault, WriteTool

log = get_logger(__name__)


class Execution:
    """Executes approved calls. A retry after a crash meets the first try's effect and completes its record."""

    def __init__(
        self,
        runs: RunService,
        registry: ToolRegistry,
        staging: Staging,
        accounts: AccountsService,
        events: EventLog,
    ) -> None:
        self._runs = runs
        self._registry = registry
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
            actor, tool = await self._admit(call)
            executed = await tool.execute(actor, _as_staged(call), call.id)
        except StaleTarget:
            return await self._stale(call)
        except GoneTarget:
            return await self._fail(call, "NOT_FOUND", GONE)
        except ToolFault as fault:
            return await self._fail(call, "TOOL_FAULT", fault.message)
        except AppError as error:
            log.warning("approved_call_failed", call_id=str(call.id), code=error.code)
            return await self._fail(call, error.code, error.message)
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

    async def _admit(self, call: AgentToolCall) -> tuple[HumanActor, WriteTool]:
        """The policy once more, at the moment of running, with the role that the person has now."""
        tool = self._registry.get(call.tool)
        if tool is None or not tool.policy.mutates:
            raise ToolFault("This tool is not there any more. Nothing was changed.")
        if call.args is None or sha256_hex(call.args) != call.args_hash:
            raise ToolFault("The arguments are not those that were shown. Nothing was changed.")
        actor = await self._accounts.actor(call.user_id) if call.user_id else None
        if actor is None:
            raise ToolFault("The person's account is no longer active. Nothing was changed.")
        refused = decide(tool.policy, CallContext("copilot", actor.role)).blocked
        if refused is not None:
            raise ToolFault(f"{refused} Nothing was changed.")
        return actor, cast("WriteTool", tool)

    async def _stale(self, call: AgentToolCall) -> AgentToolCall:
        try:
            return await self.restage(call, "approved")
        except ToolFault as fault:
            return await self._fail(call, "TOOL_FAULT", fault.message)

    async def _complete(self, call: AgentToolCall, executed: Executed, started: float) -> AgentToolCall:
        target = executed.result.get("id")
        return await self._end(
            call,
            "executed",
            result=executed.result,
            executed_version=executed.version,
            executed_hash=call.args_hash,
            reads={target: executed.version}
            if target and executed.version and "deleted" not in executed.result
            else {},
            latency_ms=round((time.monotonic() - started) * 1000),
        )

    async def _fail(self, call: AgentToolCall, code: str, message: str) -> AgentToolCall:
        return await self._end(call, "error", code=code, result={"code": code, "message": message})

    async def _end(self, call: AgentToolCall, outcome: str, **fields: Any) -> AgentToolCall:
        moved = await self._runs.move_call(call.id, "approved", outcome, **fields)
        ended = moved or await self._runs.call(call.id)
        await tell(self._events, ended)
        return ended


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
