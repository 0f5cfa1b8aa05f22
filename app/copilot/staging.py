"""Freezing a write: the record that is shown, decided and run (003 §4.6, D-7, D-8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.copilot.confirmation import ConfirmationTokens, new_nonce
from app.copilot.events import EventLog
from app.copilot.telling import tell
from app.core.canonical import sha256_hex
from app.core.clock import Clock
from app.core.ids import derived_id
from app.runs.models import AgentRun, AgentToolCall, Approval
from app.runs.service import RunService
from app.tools.arguments import Arguments
from app.tools.gate import GateDecision
from app.tools.tool import GoneTarget, HasHandshake, Staged, ToolFault, WriteTool

GONE = "This work order is no longer there, or is not yours. Nothing was changed."


class Staging:
    """Makes pending calls, and makes them anew when their target moved."""

    def __init__(
        self, runs: RunService, events: EventLog, tokens: ConfirmationTokens, clock: Clock, *, ttl_ms: int
    ) -> None:
        self._runs = runs
        self._tokens = tokens
        self._events = events
        self._clock = clock
        self._ttl = timedelta(milliseconds=ttl_ms)

    async def stage(
        self,
        run: AgentRun,
        call_id: ObjectId,
        tool: WriteTool,
        actor: HumanActor,
        *,
        args: Arguments,
        decision: GateDecision,
    ) -> AgentToolCall:
        """Reads the target, freezes the proposal, asks the person. Raises `ToolFault`, `GoneTarget`."""
        staged = await tool.stage(actor, args, call_id)
        handshake = sha256_hex(tool.handshake(staged.args)) if isinstance(tool, HasHandshake) else None
        return await self._ask(
            run.id,
            run.user_id,
            call_id,
            tool=tool.policy.name,
            staged=staged,
            decision=decision.as_record(),
            handshake=handshake,
        )

    async def restage(self, old: AgentToolCall, tool: WriteTool, actor: HumanActor, expected: str) -> AgentToolCall:
        """Replaces a stale call by a fresh proposal of the same arguments, or ends it when there is nothing to ask.

        Returns the call that counts now. Retried after a crash it meets its own work: the new id is derived.
        """
        new_id = derived_id(str(old.id), "restaged")
        try:
            staged = await tool.stage(actor, tool.arguments.model_validate(old.args), new_id)
        except GoneTarget:
            return await self._end(old, expected, "error", {"code": "NOT_FOUND", "message": GONE})
        except ToolFault as fault:
            return await self._end(old, expected, "stale", {"code": "AI_APPROVAL_STALE", "message": fault.message})
        message = "The work order changed meanwhile. Nothing was run; the person is asked anew."
        ended = await self._end(
            old, expected, "stale", {"code": "AI_APPROVAL_STALE", "message": message}, superseded_by=new_id
        )
        if ended.superseded_by != new_id:
            return ended  # decided, or stopped, in this very moment
        fresh = await self._ask(
            old.run_id,
            old.user_id,
            new_id,
            tool=old.tool,
            staged=staged,
            decision=old.decision or {},
            supersedes=old.id,
            told=False,
        )
        await self._runs.repark(old.run_id, old.id, fresh.id)
        await tell(self._events, fresh)
        return fresh

    async def _ask(
        self,
        run_id: ObjectId,
        user_id: ObjectId | None,
        call_id: ObjectId,
        *,
        tool: str,
        staged: Staged,
        decision: dict[str, Any],
        supersedes: ObjectId | None = None,
        handshake: str | None = None,
        told: bool = True,
    ) -> AgentToolCall:
        now = self._clock.now()
        approval = Approval(status="pending", summary=staged.summary, expires_at=now + self._ttl, nonce=new_nonce())
        call = AgentToolCall.model_construct(
            id=call_id,
            run_id=run_id,
            user_id=user_id,
            tool=tool,
            args=staged.args,
            outcome="pending",
            staged_version=staged.version,
            pre_image=staged.pre_image,
            after_diff=staged.after_diff,
            target_id=staged.target,
            args_hash=sha256_hex(staged.args),
            supersedes=supersedes,
            handshake_hash=handshake,
            decision=decision,
            approval=approval,
            created_at=now,
            updated_at=now,
        )
        approval.token_hash = self._tokens.fingerprint(call)
        kept = await self._runs.keep_call(call)
        if told:
            await tell(self._events, kept)
        return kept

    async def _end(
        self,
        call: AgentToolCall,
        expected: str,
        outcome: str,
        result: dict[str, str],
        superseded_by: ObjectId | None = None,
    ) -> AgentToolCall:
        fields: dict[str, Any] = {"result": result, "code": result["code"], "superseded_by": superseded_by}
        if expected == "pending":
            fields["approval_status"] = "stale"  # nobody decided it, and nobody can any more
        moved = await self._runs.move_call(call.id, expected, outcome, **fields)
        ended = moved or await self._runs.call(call.id)
        await tell(self._events, ended)
        return ended
