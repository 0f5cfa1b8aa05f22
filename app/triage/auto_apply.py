"""Auto-apply: the suggested priority written as the System Actor, if it still may be (AGT-7, D-14, SEC-6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bson import ObjectId

from app.accounts.actors import SystemActor
from app.core.clock import Clock
from app.core.ids import derived_id
from app.core.logging import get_logger
from app.governance.models import AgentConfig
from app.runs.models import AgentToolCall
from app.runs.schemas import Outcome
from app.runs.service import RunService
from app.tools.gate import GateDecision
from app.tools.gatekeeper import Gatekeeper
from app.tools.policy import Tier
from app.tools.triage_write import TRIAGE_APPLY, judge_triage_write
from app.triage.errors import NothingToDo
from app.triage.models import TriageSuggestion
from app.triage.repository import SuggestionRepository
from app.triage.schemas import rank
from app.work_orders.errors import OrderNotFound
from app.work_orders.outcomes import AlreadyApplied, StaleOrder
from app.work_orders.schemas import Mark, Priority, TriageOrder
from app.work_orders.service import WorkOrderService

log = get_logger(__name__)

_TRIES = 2

MayWrite = Callable[[ObjectId], Awaitable[AgentConfig]]
"""Asked before each write with the order's owner; the policy as it is now.

Raises `NothingToDo` when the owner opted out, or what ends the pass (D-18, SEC-8).
"""


class Dropped(Exception):
    """The priority is not written; `note` says why, in one plain sentence."""

    def __init__(self, note: str, outcome: Outcome = "error") -> None:
        self.note = note
        self.outcome = outcome
        super().__init__(note)


def wants_auto(policy: AgentConfig, read: Priority, suggested: Priority) -> tuple[bool, str | None]:
    """Whether the policy applies this by itself; a note where only the direction forbids it (D-14)."""
    if policy.mode != "auto-apply" or "priority" not in policy.allowed_fields or suggested == read:
        return False, None
    if policy.apply_direction == "raise" and rank(suggested) < rank(read):
        return False, "Triage only raises priorities by itself; lowering it is yours to decide."
    return True, None


class AutoApply:
    """Applies one pending suggestion exactly once: a retry finds its own mark on the order (D-5)."""

    def __init__(
        self,
        suggestions: SuggestionRepository,
        orders: WorkOrderService,
        runs: RunService,
        gatekeeper: Gatekeeper,
        clock: Clock,
    ) -> None:
        self._suggestions = suggestions
        self._orders = orders
        self._runs = runs
        self._gatekeeper = gatekeeper
        self._clock = clock

    async def settle(self, suggestion: TriageSuggestion, may_write: MayWrite) -> TriageSuggestion:
        """Applies it, or drops it with a note; once that is done, nothing more happens."""
        if suggestion.auto_apply != "pending":
            return suggestion
        mark = Mark(str(derived_id(str(suggestion.id), "auto-apply")), "triage")
        decision = await judge_triage_write(self._gatekeeper, _args(suggestion))
        try:
            version = await self._write(suggestion, decision, mark, may_write)
        except Dropped as dropped:
            log.info("triage_apply_dropped", suggestion_id=str(suggestion.id), reason=dropped.note)
            fields: dict[str, Any] = {"autoApply": "dropped", "note": dropped.note}
            await self._record(suggestion, decision, dropped.outcome, note=dropped.note)
        else:
            fields = {
                "autoApply": "applied",
                "applied": True,
                "appliedAt": self._clock.now(),
                "appliedBy": "system",
                "applyMark": mark.tool_call_id,
                "appliedVersion": version,
            }
            await self._record(suggestion, decision, "executed", version=version)
        return await self._suggestions.settle_auto(suggestion.id, fields) or suggestion

    async def _write(
        self, suggestion: TriageSuggestion, decision: GateDecision, mark: Mark, may_write: MayWrite
    ) -> int:
        """The version that the write produced, now or in an attempt that died after it."""
        for _ in range(_TRIES):
            order = await self._fresh(suggestion, decision, mark, may_write)
            try:
                written = await self._orders.triage_patch(
                    SystemActor(), order.id, order.version, suggestion.suggested_priority, mark
                )
            except StaleOrder:
                continue
            except AlreadyApplied as applied:
                return applied.version
            except OrderNotFound:
                break
            return written.version
        raise Dropped("The work order kept changing, so triage left it alone.", "stale")

    async def _fresh(
        self, suggestion: TriageSuggestion, decision: GateDecision, mark: Mark, may_write: MayWrite
    ) -> TriageOrder:
        """The order as it is now. Raises `Dropped` when what is there should stay (scenario 3.6)."""
        order = await self._orders.for_triage(suggestion.work_order_id)
        if order is None:
            raise Dropped("The work order was deleted meanwhile.")
        if mark.tool_call_id and await self._orders.was_applied(order.id, mark.tool_call_id):
            return order
        if decision.tier > Tier.AUTO or decision.blocked:
            raise Dropped(f"The tool policy keeps triage from writing: {decision.denial}", "blocked")
        try:
            policy = await may_write(order.owner)
        except NothingToDo as error:
            raise Dropped(error.reason, "blocked") from None
        read = suggestion.priority_read or order.priority
        if order.priority != read:
            raise Dropped("Somebody set the priority meanwhile; it stays as they set it.", "stale")
        wanted, note = wants_auto(policy, order.priority, suggestion.suggested_priority)
        if not wanted:
            raise Dropped(note or "The policy was changed meanwhile: triage only suggests.", "blocked")
        return order

    async def _record(
        self,
        suggestion: TriageSuggestion,
        decision: GateDecision,
        outcome: Outcome,
        *,
        version: int | None = None,
        note: str = "",
    ) -> None:
        now = self._clock.now()
        call = AgentToolCall(
            id=derived_id(str(suggestion.id), "auto-apply"),
            run_id=suggestion.run_id,
            tool=TRIAGE_APPLY.name,
            args=_args(suggestion),
            decision=decision.as_record(),
            outcome=outcome,
            result={"message": note} if note else {"status": "executed", "version": version},
            executed_version=version,
            pre_image={"priority": suggestion.priority_read},
            target_id=suggestion.work_order_id,
            created_at=now,
            updated_at=now,
        )
        await self._runs.keep_call(call, waits=False)  # on disk with the suggestion's own mark, written next


def _args(suggestion: TriageSuggestion) -> dict[str, Any]:
    return {"id": str(suggestion.work_order_id), "priority": suggestion.suggested_priority}
