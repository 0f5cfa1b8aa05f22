"""Asks the model for a proposal: money reserved before each call, every answer on record (D-10, D-25, SEC-11)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bson import ObjectId

from app.core.clock import Clock
from app.core.ids import derived_id
from app.governance.service import TRIAGE
from app.governance.spend import Reservation, SpendLedger
from app.llm.port import ChatProvider, ChatRequest, Completion, Prices
from app.llm.pricing import reservation_usd
from app.runs.errors import LeaseLostError
from app.runs.models import AgentRun, AgentToolCall, Step
from app.runs.rows import NewRun
from app.runs.service import RunService
from app.triage.errors import InvalidProposal
from app.triage.prompt import INSTRUCTIONS, correction, order_as_data, triage_request
from app.triage.proposal import MAX_BYTES, parse_proposal
from app.triage.schemas import Proposal
from app.work_orders.schemas import TriageOrder

CALLS_PER_PASS = 2
"""The first answer, and one more that is told what was wrong with it."""

MayCall = Callable[[], Awaitable[int]]
"""Asked before each further call; how many calls the agent may make today. Raises what ends the pass."""


@dataclass(slots=True)
class _Spent:
    cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    latency_ms: int = 0
    started: float = field(default_factory=time.monotonic)

    def counted(self) -> dict[str, float]:
        return {
            "stepCount": 1,
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "spentUsd": self.cost_usd,
        }


class Asking:
    """`model` names the provider's model on each run; `max_tokens` bounds an answer."""

    def __init__(
        self,
        provider: ChatProvider,
        runs: RunService,
        ledger: SpendLedger,
        prices: Prices,
        clock: Clock,
        *,
        model: str,
        max_tokens: int,
    ) -> None:
        self._provider = provider
        self._runs = runs
        self._ledger = ledger
        self._prices = prices
        self._clock = clock
        self._model = model
        self._max_tokens = max_tokens

    async def start(self, order: TriageOrder) -> AgentRun:
        """A run of the triage agent, held by the caller, with its prompt on record."""
        now = self._clock.now()
        first = [
            Step(role="system", content=INSTRUCTIONS, at=now),
            Step(role="user", content=order_as_data(order), at=now),
        ]
        new = NewRun(mode="autonomous", model=self._model, first=first, agent_name=TRIAGE, work_order_id=order.id)
        return await self._runs.start(new)

    async def propose(self, run: AgentRun, order: TriageOrder, most: int, may_call: MayCall) -> Proposal:
        """`most`: what `may_call` answered just now, for the first call.

        Raises `InvalidProposal` at the last try, `ProviderUnavailable`, `BudgetExceeded`, and as `may_call` does.
        """
        fault: str | None = None
        for number in range(1, CALLS_PER_PASS + 1):
            most = most if number == 1 else await may_call()
            request = triage_request(order, self._max_tokens, fault)
            spent = _Spent()
            answer = await self._asked(run, number, request, most, spent)
            await self._runs.commit(run, self._said(answer, fault), counted=spent.counted())
            try:
                proposal = parse_proposal(answer)
            except InvalidProposal as error:
                fault = error.fault
                await self._record(run, number, spent, fault=fault)
                continue
            await self._record(run, number, spent, proposal=proposal)
            return proposal
        raise InvalidProposal(fault or "")

    async def _asked(self, run: AgentRun, number: int, request: ChatRequest, most: int, spent: _Spent) -> Completion:
        """The answer; what a call that failed has cost is on the run all the same."""
        try:
            return await self._ask(run, number, request, most, spent)
        except BaseException:
            with contextlib.suppress(LeaseLostError):
                await asyncio.shield(self._runs.commit(run, [], counted=spent.counted()))
            raise

    async def _ask(self, run: AgentRun, number: int, request: ChatRequest, most: int, spent: _Spent) -> Completion:
        reservation = await self._ledger.reserve(
            f"{run.id}{number:04x}", reservation_usd(request, self._prices), agent=TRIAGE, most_actions=most
        )
        answer: Completion | None = None
        try:
            answer = await self._provider.complete(request)
            return answer
        finally:
            await asyncio.shield(self._settle(reservation, answer, spent))

    async def _settle(self, reservation: Reservation, answer: Completion | None, spent: _Spent) -> None:
        """Every call is billed; one without usage at what was reserved (D-10, scenario 3.1)."""
        usage = answer.usage if answer else None
        spent.latency_ms = round((time.monotonic() - spent.started) * 1000)
        spent.cost_usd = await self._ledger.settle(reservation, self._prices.cost(usage) if usage else None)
        if usage:
            spent.input_tokens, spent.output_tokens = usage.input_tokens, usage.output_tokens

    def _said(self, answer: Completion, fault: str | None) -> list[Step]:
        now = self._clock.now()
        told = [Step(role="system", content=correction(fault), at=now)] if fault else []
        return [*told, Step(role="assistant", content=answer.text[:MAX_BYTES], at=now)]

    async def _record(
        self, run: AgentRun, number: int, spent: _Spent, *, proposal: Proposal | None = None, fault: str | None = None
    ) -> None:
        now = self._clock.now()
        accepted = proposal.model_dump(by_alias=True) if proposal else None
        call = AgentToolCall(
            id=_call_id(run, number),
            run_id=run.id,
            tool="triage_propose",
            args=accepted,
            outcome="executed" if proposal else "error",
            code=None if proposal else "MALFORMED",
            result=accepted or {"code": "MALFORMED", "message": fault},
            latency_ms=spent.latency_ms,
            target_id=run.work_order_id,
            created_at=now,
            updated_at=now,
        )
        await self._runs.keep_call(call, waits=False)  # on disk with the suggestion that rests on it


def _call_id(run: AgentRun, number: int) -> ObjectId:
    return derived_id(str(run.id), TRIAGE, str(number))
