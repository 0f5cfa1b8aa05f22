"""From a call that the model asked for to its record: parse, gate, then read inline or stage (003 §4.4, SEC-3..5)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from app.accounts.actors import HumanActor
from app.copilot.events import EventLog, ToolCallStart
from app.copilot.staging import GONE, Staging
from app.copilot.telling import tell
from app.copilot.view import MALFORMED, UNKNOWN_TOOL, RunView
from app.core.canonical import sha256_hex
from app.core.clock import Clock
from app.runs.models import AgentToolCall, StepCall
from app.runs.service import RunService
from app.tools.arguments import Arguments
from app.tools.confirmed_read import staged_by
from app.tools.gate import CallContext, GateDecision, ProposedCall, barred, decide
from app.tools.gatekeeper import Gatekeeper, Standing
from app.tools.policy import Tier
from app.tools.registry import ToolRegistry
from app.tools.reviews import ReviewQueue
from app.tools.tool import GoneTarget, HasHandshake, ReadTool, Tool, ToolFault

BLOCKED = "AI_INJECTION_BLOCKED"
DENIED = "POLICY_DENIED"
REVIEW = "POLICY_REVIEW"


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a call is made, and in which context the gate judges it."""

    actor: HumanActor
    context: CallContext
    standing: Standing | None = None
    """The raised tiers as the step began with them; read anew where it is not given."""


class Refusal(Exception):
    """A call that ends before any tool: `outcome` error or blocked, and why."""

    def __init__(self, outcome: str, code: str, message: str, decision: GateDecision | None = None) -> None:
        self.outcome = outcome
        self.code = code
        self.message = message
        self.decision = decision
        super().__init__(message)


class Dispatcher:
    """Gives every call exactly one record, and tells it: one start, one result (D-23)."""

    def __init__(
        self,
        runs: RunService,
        registry: ToolRegistry,
        gatekeeper: Gatekeeper,
        staging: Staging,
        *,
        reviews: ReviewQueue,
        events: EventLog,
        clock: Clock,
    ) -> None:
        self._runs = runs
        self._registry = registry
        self._gatekeeper = gatekeeper
        self._staging = staging
        self._reviews = reviews
        self._events = events
        self._clock = clock

    async def dispatch(self, view: RunView, call: StepCall, caller: Caller, *, write_taken: bool) -> AgentToolCall:
        """The record of `call`: final for reads and refusals, pending for what is asked, approved for what was."""
        try:
            tool, args = self._parse(call, caller)
            decision = await self._gatekeeper.judge(tool, args, caller.context, caller.standing)
            if decision.blocked is not None:
                raise Refusal("blocked", BLOCKED, decision.blocked, decision)
            if decision.tier >= Tier.REVIEW:
                await self._deny(view, call, tool, decision, args=args, actor=caller.actor)
            if decision.tier is Tier.AUTO and not decision.mutates:
                return await self._read(view, call, cast("ReadTool", tool), decision, args=args, actor=caller.actor)
            self._check_write(view, args, decision, write_taken=write_taken)
            if isinstance(tool, HasHandshake) and tool.is_confirmed(args):
                return await self._confirmed(view, call, tool, decision, args=args)
            return await self._staging.stage(
                view.run, call.id, staged_by(tool), caller.actor, args=args, decision=decision
            )
        except Refusal as refusal:
            return await self._refuse(view, call, refusal)
        except ToolFault as fault:
            return await self._refuse(view, call, Refusal("error", fault.code, fault.message))
        except GoneTarget:
            return await self._refuse(view, call, Refusal("error", "NOT_FOUND", GONE))

    def _parse(self, call: StepCall, caller: Caller) -> tuple[Tool, Arguments]:
        """The tool and its strict arguments, or the refusal that comes before any policy."""
        if call.fault is not None:
            raise Refusal("error", MALFORMED, call.fault)
        tool = self._registry.get(call.tool)
        if tool is None:
            raise Refusal(
                "error", UNKNOWN_TOOL, f"There is no tool named {call.tool[:80]!r}. Use one of those offered."
            )
        if blocked := barred(tool.policy, caller.context):
            raise Refusal("blocked", BLOCKED, blocked, decide(ProposedCall(), tool.policy, caller.context))
        try:
            return tool, tool.arguments.model_validate(call.args)
        except ValidationError as error:
            raise Refusal("error", MALFORMED, _faults(error)) from None

    async def _deny(
        self,
        view: RunView,
        call: StepCall,
        tool: Tool,
        decision: GateDecision,
        *,
        args: Arguments,
        actor: HumanActor,
    ) -> None:
        """Review and never both deny; what review holds is kept for a dispatcher (T-8). Raises `Refusal`."""
        if decision.tier is Tier.NEVER:
            raise Refusal("error", DENIED, f"{decision.denial} It never runs here.", decision)
        await self._reviews.put(view.run, call.id, tool, actor, args=args, decision=decision)
        raise Refusal(
            "error", REVIEW, f"{decision.denial} It was not run: a dispatcher reviews it and decides.", decision
        )

    async def _confirmed(
        self, view: RunView, call: StepCall, tool: HasHandshake, decision: GateDecision, *, args: Arguments
    ) -> AgentToolCall:
        """The second call of a handshake, against the approved, unspent, equal first one of this run (T-10, 4.4)."""
        frozen = args.frozen_args()
        handshake = sha256_hex(tool.handshake(frozen))
        preview = await self._runs.spend_preview(view.run.id, handshake, call.id)
        if preview is None or preview.approval is None:
            message = (
                "Nothing was sent: confirmed_write runs only what the person approved, once, with the same arguments."
                " Call with intent write first."
            )
            raise Refusal("error", DENIED, message, decision)
        await self._tell_start(view, call, frozen)
        record = self._record(
            view, call, "approved", args=frozen, args_hash=sha256_hex(frozen), target_id=call.id,
            decision=decision.as_record(),
            approval=preview.approval.model_copy(update={"nonce": "", "token_hash": None}),
        )  # fmt: skip
        return await self._runs.keep_call(record)

    def _check_write(self, view: RunView, args: Arguments, decision: GateDecision, *, write_taken: bool) -> None:
        if write_taken:
            raise Refusal(
                "error",
                "ONE_WRITE_PER_STEP",
                "Only one change at a time. Wait for the decision on the first.",
                decision,
            )
        target = getattr(args, "id", None)
        if target is not None and target not in view.seen:
            message = "need_read_first: read this work order with a list or search tool first, then use its id."
            raise Refusal("blocked", BLOCKED, message, decision)

    async def _read(
        self,
        view: RunView,
        call: StepCall,
        tool: ReadTool,
        decision: GateDecision,
        *,
        args: Arguments,
        actor: HumanActor,
    ) -> AgentToolCall:
        frozen = args.frozen_args()
        await self._tell_start(view, call, frozen)
        started, args_hash = time.monotonic(), sha256_hex(frozen)
        if known := view.cached_read(call.tool, args_hash):
            result, reads = known.result, known.reads
        else:
            answer = await tool.read(actor, args)
            result, reads = answer.text, answer.reads
        record = self._record(
            view, call, "executed", args=frozen, args_hash=args_hash, executed_hash=args_hash, result=result,
            reads=reads, latency_ms=round((time.monotonic() - started) * 1000), decision=decision.as_record(),
        )  # fmt: skip
        return await self._keep(record)

    async def _refuse(self, view: RunView, call: StepCall, refusal: Refusal) -> AgentToolCall:
        await self._tell_start(view, call, call.args)
        record = self._record(
            view,
            call,
            refusal.outcome,
            args=call.args,
            code=refusal.code,
            result={"code": refusal.code, "message": refusal.message},
            decision=refusal.decision.as_record() if refusal.decision else None,
        )
        return await self._keep(record)

    async def _tell_start(self, view: RunView, call: StepCall, args: dict[str, Any] | None) -> None:
        await self._events.append(
            view.run.id, ToolCallStart(tool_call_id=str(call.id), tool=call.tool or "(none)", args=args)
        )

    async def _keep(self, record: AgentToolCall) -> AgentToolCall:
        kept = await self._runs.keep_call(record)
        await tell(self._events, kept)
        return kept

    def _record(self, view: RunView, call: StepCall, outcome: str, **fields: Any) -> AgentToolCall:
        now = self._clock.now()
        record: AgentToolCall = AgentToolCall.model_construct(
            id=call.id,
            run_id=view.run.id,
            user_id=view.run.user_id,
            tool=call.tool or "(none)",
            outcome=outcome,
            created_at=now,
            updated_at=now,
            **fields,
        )
        return record


def _faults(error: ValidationError) -> str:
    """What is wrong with the arguments, for the model: the field and the rule, never the value."""
    parts = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_input=False, include_url=False)[:5]
    ]
    return "The arguments do not fit the tool. " + "; ".join(parts)
