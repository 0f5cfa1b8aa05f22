"""One triage pass over one claimed event, from the gate to the settled event (AGT-4..7, D-11, D-18, SEC-8).

One suggestion per event, whatever dies: it is looked up before the model is asked, and unique when it is stored.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from bson import ObjectId
from pymongo.errors import PyMongoError

from app.accounts.service import AccountsService
from app.core.clock import Clock
from app.core.ids import derived_id, is_id
from app.core.logging import get_logger
from app.governance.errors import BudgetExceeded
from app.governance.gate import TriageGate
from app.governance.models import AgentConfig
from app.governance.schemas import WAIT_WORDS
from app.governance.service import GovernanceService
from app.llm.port import ProviderUnavailable
from app.outbox.schemas import Event
from app.outbox.service import OutboxService
from app.runs.errors import LeaseLostError
from app.runs.models import AgentRun
from app.runs.schemas import RunStatus
from app.runs.service import RunService
from app.tools.gatekeeper import Gatekeeper
from app.triage.asking import Asking
from app.triage.auto_apply import AutoApply, wants_auto
from app.triage.errors import InvalidProposal, MustWait, NothingToDo
from app.triage.models import TriageSuggestion
from app.triage.repository import SuggestionRepository
from app.triage.schemas import PassOutcome, PassResult, Proposal, rank
from app.work_orders.schemas import TriageOrder
from app.work_orders.service import WorkOrderService

log = get_logger(__name__)

GONE = "The work order was deleted."
OPTED_OUT = "AI is switched off for the technician of this work order."
LEASE_LOST = "Another worker has taken it over."
TRIED_AGAIN = "It did not work this time and is tried again soon."


@dataclass(slots=True)
class Held:
    """A claimed event in work. `run` once there is one; `lost` when the lease went to another."""

    event: Event
    run: AgentRun | None = None
    lost: bool = False

    @property
    def run_id(self) -> ObjectId | None:
        return self.run.id if self.run else None


def event_key(event: Event) -> str:
    """What is unique among suggestions: the event's own identity (AGT-1)."""
    return f"{event.type}:{event.payload_ref}"


class TriagePass:
    """Works on events that the caller has claimed, and keeps alive."""

    def __init__(
        self,
        *,
        suggestions: SuggestionRepository,
        outbox: OutboxService,
        orders: WorkOrderService,
        accounts: AccountsService,
        governance: GovernanceService,
        gate: TriageGate,
        runs: RunService,
        asking: Asking,
        gatekeeper: Gatekeeper,
        clock: Clock,
    ) -> None:
        self._suggestions = suggestions
        self._outbox = outbox
        self._orders = orders
        self._accounts = accounts
        self._governance = governance
        self._gate = gate
        self._runs = runs
        self._asking = asking
        self._auto_apply = AutoApply(suggestions, orders, runs, gatekeeper, clock)
        self._clock = clock

    async def run(self, held: Held) -> PassResult:
        """The pass and its settlement. Database faults go through: the lease lapses, and the event comes back."""
        try:
            return await self._steps(held)
        except NothingToDo as error:
            await self._end_run(held, "aborted", "SKIPPED")
            return self._settled(held, await self._outbox.done(held.event, "skipped"), "skipped", error.reason)
        except (MustWait, BudgetExceeded) as error:
            return await self._waits(held, error)
        except LeaseLostError:
            return PassResult("waiting", held.run_id, LEASE_LOST)
        except PyMongoError:
            raise
        except Exception as error:  # the last line of defence: an event never hangs on a fault of ours
            return await self._fails(held, error)

    async def _steps(self, held: Held) -> PassResult:
        if not is_id(held.event.payload_ref):
            raise NothingToDo("The event names no work order.")
        earlier, order = await asyncio.gather(
            self._suggestions.of_event(event_key(held.event)),
            self._orders.for_triage(ObjectId(held.event.payload_ref)),
        )
        if earlier is not None:
            return await self._finish(held, earlier)
        if order is None:
            raise NothingToDo(GONE)

        async def may_call() -> int:
            return (await self._still(order.owner)).daily_action_cap

        most = await may_call()
        held.run = await self._asking.start(order)
        proposal = await self._asking.propose(held.run, order, most, may_call)
        return await self._finish(held, await self._store(held.run, held.event, order, proposal))

    async def _store(self, run: AgentRun, event: Event, order: TriageOrder, proposal: Proposal) -> TriageSuggestion:
        """The event's suggestion: this one, or the one that was there first."""
        policy = await self._still(order.owner)
        auto, note = wants_auto(policy, order.priority, proposal.suggested_priority)
        at_threshold = rank(proposal.suggested_priority) >= rank(policy.flag_threshold)
        suggestion = TriageSuggestion(
            id=derived_id("suggestion", event_key(event)),
            work_order_id=order.id,
            run_id=run.id,
            summary=proposal.summary,
            suggested_priority=proposal.suggested_priority,
            flag_for_dispatcher=proposal.flag_for_dispatcher or at_threshold,
            model_flagged=proposal.flag_for_dispatcher,
            created_at=self._clock.now(),
            event_key=event_key(event),
            priority_read=order.priority,
            auto_apply="pending" if auto else None,
            note=note,
        )
        if await self._suggestions.insert(suggestion):
            return suggestion
        return await self._suggestions.of_event(event_key(event)) or suggestion

    async def _finish(self, held: Held, suggestion: TriageSuggestion) -> PassResult:
        """What follows once the suggestion is there, in this attempt or an earlier one."""
        if held.run is None and (taken := await self._runs.take(suggestion.run_id)):
            held.run = taken[0]
        if suggestion.auto_apply == "pending":
            suggestion = await self._auto_apply.settle(suggestion, self._still)
        await self._end_run(held, "complete", None)
        settled = await self._outbox.done(held.event, "done")
        return self._settled(held, settled, "done", suggestion.note, suggestion.run_id)

    # -- asked again before each step (D-18, SEC-8) -------------------------------------------------------------

    async def _still(self, owner: ObjectId) -> AgentConfig:
        """The policy now, when triage may go on with an order of `owner`. Raises `MustWait` and `NothingToDo`."""
        policy, is_on = await asyncio.gather(self._governance.triage_policy(), self._accounts.ai_on(owner))
        if wait := self._gate.policy_closed(policy):
            raise MustWait(wait)
        if not is_on:
            raise NothingToDo(OPTED_OUT)
        return policy

    # -- endings ------------------------------------------------------------------------------------------------

    async def _waits(self, held: Held, error: MustWait | BudgetExceeded) -> PassResult:
        """Switched off, outside its hours, or at a cap: the event waits, uncounted (D-11)."""
        if isinstance(error, MustWait):
            await self._end_run(held, "aborted", "ABORTED")
            wait = error.wait
        else:
            await self._end_run(held, "budget_exceeded", error.code)
            wait = self._gate.cap_reached(error.scope)
        settled = await self._outbox.park(held.event, wait.reason, wait.until)
        return replace(self._settled(held, settled, "waiting", WAIT_WORDS[wait.reason]), closed=True)

    async def _fails(self, held: Held, error: Exception) -> PassResult:
        """A passing failure: tried again later, or failed for good at the cap (AGT-5)."""
        code, reason = _told(error)
        if code == "INTERNAL":
            log.exception("triage_pass_failed", event_id=held.event.id, error=type(error).__name__)
        await self._end_run(held, "error", code)
        status = await self._outbox.retry(held.event, reason)
        log.warning("triage_attempt_failed", event_id=held.event.id, code=code, attempts=held.event.attempts)
        if status == "failed":
            return PassResult("failed", held.run_id, reason)
        return self._settled(held, status is not None, "waiting", f"{reason} {TRIED_AGAIN}")

    async def _end_run(self, held: Held, status: RunStatus, code: str | None) -> None:
        if held.run is not None:
            try:
                await self._runs.finish(held.run, status, code)
            except LeaseLostError:
                log.info("triage_run_ended_elsewhere", run_id=str(held.run.id))

    def _settled(
        self, held: Held, settled: bool, outcome: PassOutcome, reason: str | None, run_id: ObjectId | None = None
    ) -> PassResult:
        if not settled:
            return PassResult("waiting", held.run_id, LEASE_LOST)
        return PassResult(outcome, run_id or held.run_id, reason)


def _told(error: Exception) -> tuple[str, str]:
    """The run's error code, and the reason on the event: nothing of the prompt or the answer."""
    if isinstance(error, ProviderUnavailable):
        return error.code, f"The AI service did not answer ({error.reason})."
    if isinstance(error, InvalidProposal):
        return "INVALID_PROPOSAL", f"The answer was no proposal. {error.fault}"
    return "INTERNAL", f"Something went wrong on our side ({type(error).__name__})."
