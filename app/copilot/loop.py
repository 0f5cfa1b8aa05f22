"""The copilot's turn as a state machine over persisted state (003 §4.4, D-1).

Each round looks at what is on record and does the next thing: answer the open calls, or ask the model. All that a
round needs is in MongoDB before the next one starts, so any process can carry a run on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bson import ObjectId

from app.accounts.people import Person
from app.copilot.dispatch import Caller, Dispatcher
from app.copilot.events import ErrorCode
from app.copilot.execution import Execution
from app.copilot.prompt import Briefing, Viewing, chat_messages, within_budget
from app.copilot.provider_step import Answer, ProviderStep
from app.copilot.view import MALFORMED, UNKNOWN_TOOL, RunView, result_steps
from app.core.clock import Clock
from app.core.errors import NotFound
from app.core.ids import derived_id
from app.core.settings import Settings
from app.llm.port import CallRequested, ChatMessage, ChatRequest, ProviderUnavailable
from app.runs.errors import LeaseLostError
from app.runs.models import AgentRun, Step, StepCall
from app.runs.schemas import FINAL_OUTCOMES, RunStatus
from app.runs.service import RunService
from app.tools.gate import CallContext
from app.tools.gatekeeper import Gatekeeper
from app.work_orders.service import WorkOrderService

T = TypeVar("T")

UNKNOWN_TOOLS_MAX = 3
MALFORMED_MAX = 2
SAME_WRITE_REJECTED_MAX = 2
_EARLIER_TURNS = 20


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ends: its status, and the code of its last event where it did not complete."""

    status: RunStatus
    code: ErrorCode | None = None
    content: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run waits for the decision on a call."""

    call_id: ObjectId


class RunLoop:
    """Carries a held run on until it waits or ends. Raises what stops a run: the engine turns it into an ending."""

    def __init__(
        self,
        runs: RunService,
        steps: ProviderStep,
        dispatcher: Dispatcher,
        execution: Execution,
        *,
        gatekeeper: Gatekeeper,
        orders: WorkOrderService,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._runs = runs
        self._steps = steps
        self._dispatcher = dispatcher
        self._execution = execution
        self._gatekeeper = gatekeeper
        self._orders = orders
        self._clock = clock
        self._settings = settings

    async def advance(self, run: AgentRun, person: Person) -> Ending | Waiting:
        """Rounds until the run waits or ends. Raises `LeaseLostError`, `ProviderUnavailable`, `BudgetExceeded`."""
        caller = Caller(person.actor, CallContext("copilot", person.role, person.ai_on))
        earlier = await self._earlier(run)
        while True:
            view = RunView(run, await self._runs.calls_of([run.id]))
            caller = replace(caller, standing=await self._gatekeeper.standing())
            calls = view.open_calls()
            waiting = await self._answer(view, calls, caller)
            if waiting is not None:
                return waiting
            if run.stop is not None or not person.ai_on:  # opted out meanwhile: the model hears nothing more (SEC-8)
                return Ending("aborted", "ABORTED")
            answers = result_steps(view, calls, self._clock.now())
            if ending := self._limit_reached(view, calls):
                await self._runs.commit(run, answers)
                return ending
            run = await self._ask(view, answers, person, caller, earlier=earlier)
            last = run.transcript[-1]
            if not last.calls:
                return Ending("complete", content=last.content)

    async def _answer(self, view: RunView, calls: Sequence[StepCall], caller: Caller) -> Waiting | None:
        """Every call gets its record: reads in sequence, at most one write (003 §4.4 rule 5)."""
        write_taken = False
        for call in calls:
            record = view.current(call.id)
            if record is None:
                record = await self._dispatcher.dispatch(view, call, caller, write_taken=write_taken)
            if record.outcome == "approved":
                by = f"{view.run.id}:{view.run.fence}"
                executed = await to_its_end(self._execution.execute(record.id, by))
                if executed is None:
                    raise LeaseLostError  # another process is at it: it, or the sweeper, carries the run on
                view.remember(record)
                record = executed
            view.remember(record)
            write_taken = write_taken or record.approval is not None  # a refused write takes no turn
            if record.outcome not in FINAL_OUTCOMES:
                return Waiting(record.id)
        return None

    def _limit_reached(self, view: RunView, calls: Sequence[StepCall]) -> Ending | None:
        if view.failures(UNKNOWN_TOOL) >= UNKNOWN_TOOLS_MAX or view.failures(MALFORMED) >= MALFORMED_MAX:
            return Ending("error", "TOOL_ERRORS")
        for call in calls:
            record = view.current(call.id)
            if record and record.outcome == "expired":
                return Ending("expired", "AI_APPROVAL_EXPIRED")
            if record and record.outcome == "rejected" and view.rejections(record) >= SAME_WRITE_REJECTED_MAX:
                return Ending("error", "LOOP_DETECTED")
        if view.run.step_count >= self._settings.ai_max_steps_per_run:
            return Ending("budget_exceeded", "AI_BUDGET_EXCEEDED")
        return None

    async def _ask(
        self, view: RunView, answers: list[Step], person: Person, caller: Caller, *, earlier: list[list[ChatMessage]]
    ) -> AgentRun:
        run = view.run
        request = await self._request(run, answers, person, caller, earlier=earlier)
        answer = Answer()
        try:
            await self._steps.ask(run.id, person.id, run.step_count, request, answer, said=_said_so_far(run))
        except (ProviderUnavailable, asyncio.CancelledError):
            with contextlib.suppress(LeaseLostError):  # what a broken-off call may have cost is on the run's bill too
                await to_its_end(self._runs.commit(run, answers, counted=_counted(answer)))
            raise
        return await self._runs.commit(run, [*answers, self._said(run, answer)], counted=_counted(answer))

    def _said(self, run: AgentRun, answer: Answer) -> Step:
        """The model's message with its calls under our own ids."""
        calls = [
            StepCall(
                id=derived_id(str(run.id), "call", str(run.step_count), str(place)),
                tool=call.name[:200],
                args=call.arguments if isinstance(call, CallRequested) else None,
                fault=None if isinstance(call, CallRequested) else call.reason,
            )
            for place, call in enumerate(answer.calls)
        ]
        return Step(role="assistant", content=answer.text, calls=calls, at=self._clock.now())

    async def _request(
        self, run: AgentRun, answers: list[Step], person: Person, caller: Caller, *, earlier: list[list[ChatMessage]]
    ) -> ChatRequest:
        tools = self._gatekeeper.offered(caller.context, caller.standing or await self._gatekeeper.standing())
        briefing = Briefing(person.name, person.role, run.created_at, await self._viewing(run, person))
        messages = within_budget(
            briefing.text(),
            earlier,
            chat_messages([*run.transcript, *answers]),
            tools,
            self._settings.ai_max_context_tokens,
        )
        return ChatRequest(messages, self._settings.ai_max_output_tokens, tools)

    async def _earlier(self, run: AgentRun) -> list[list[ChatMessage]]:
        """The session's finished turns, oldest first (D-4)."""
        if run.session_id is None:
            return []
        turns = await self._runs.of_session(run.session_id, _EARLIER_TURNS)
        earlier = [turn for turn in reversed(turns) if turn.id != run.id and turn.status != "running"]
        return [valid for turn in earlier if (valid := _answered(chat_messages(turn.transcript)))]

    async def _viewing(self, run: AgentRun, person: Person) -> Viewing | None:
        if run.work_order_id is None:
            return None
        try:
            order = await self._orders.get(person.actor, run.work_order_id)
        except NotFound:
            return None
        return Viewing(order.id, order.title)


def _said_so_far(run: AgentRun) -> int:
    return sum(len(step.content) for step in run.transcript if step.role == "assistant")


def _counted(answer: Answer) -> dict[str, float]:
    return {
        "stepCount": 1,
        "inputTokens": answer.usage.input_tokens if answer.usage else 0,
        "outputTokens": answer.usage.output_tokens if answer.usage else 0,
        "spentUsd": answer.cost_usd,
    }


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Awaits `work` to its end even when the run is stopped meanwhile: what is approved is finished first (D-5)."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _answered(turn: list[ChatMessage]) -> list[ChatMessage]:
    """A turn that broke off keeps only what stays valid: no call without its result (2.2)."""
    results = {message.tool_call_id for message in turn if message.role == "tool"}
    whole = [message for message in turn if not message.calls or all(call.id in results for call in message.calls)]
    asked = {call.id for message in whole for call in message.calls}
    return [message for message in whole if message.role != "tool" or message.tool_call_id in asked]
