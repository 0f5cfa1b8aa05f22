"""How runs end: open calls get their result, the record its status, the stream its one last event (D-23)."""

from __future__ import annotations

from bson import ObjectId

from app.copilot.events import ErrorCode, EventLog, MessageDone, RunFailed, ToolApprovalExpired
from app.copilot.loop import Ending
from app.copilot.telling import tell
from app.copilot.view import RunView, result_steps
from app.core.clock import Clock
from app.runs.models import AgentRun, AgentToolCall, Step, StepCall
from app.runs.schemas import FINAL_OUTCOMES
from app.runs.service import RunService

WORDS: dict[ErrorCode, str] = {
    "AI_UNAVAILABLE": "The AI service did not answer. Nothing more was changed; try again in a moment.",
    "AI_BUDGET_EXCEEDED": "The limit of steps or of today's AI budget is reached. What was approved is done.",
    "AI_APPROVAL_EXPIRED": "The time to decide is over. Nothing was run; ask again when you are ready.",
    "ABORTED": "Stopped. Nothing more will be changed.",
    "LOOP_DETECTED": "The copilot proposed again what you rejected, so it was stopped.",
    "TOOL_ERRORS": "The copilot kept using its tools wrongly, so it was stopped. Try other words.",
    "INTERNAL": "This turn broke off. What was approved is done; send your message again for the rest.",
}
_VOID = {"code": "ABORTED", "message": "The turn was stopped before the person decided. Nothing was run."}
_NEVER_RUN = {"code": "ABORTED", "message": "The turn ended before this was run."}


class Endings:
    """Ends runs that are held, parked, or left behind."""

    def __init__(self, runs: RunService, events: EventLog, clock: Clock) -> None:
        self._runs = runs
        self._events = events
        self._clock = clock

    async def end_held(self, run: AgentRun, ending: Ending) -> None:
        """Ends a run that the caller holds. Raises `LeaseLostError`."""
        view = await self._closed(await self._runs.get(run.id))
        ended = await self._runs.finish(run, ending.status, ending.code, self._answers(view))
        await self._tell_end(ended, ending)

    async def end_unheld(self, run_id: ObjectId, ending: Ending) -> bool:
        """Ends a run that nobody holds; False when somebody does, or must finish first what is approved (D-5)."""
        run = await self._runs.get(run_id)
        if run.status != "running" or self._runs.is_held(run):
            return False
        view = await self._closed(run)
        if any(record.outcome == "approved" for record in view.records):
            return False
        ended = await self._runs.finish_unheld(run_id, ending.status, ending.code, self._answers(view))
        if ended is None:
            return False
        await self._tell_end(ended, ending)
        return True

    async def expire(self, call: AgentToolCall) -> bool:
        """The time to decide is over: the call, then its run (003 §4.5). False when a decision came first."""
        message = "The person did not decide in time. Nothing was run."
        expired = await self._runs.move_call(
            call.id, "pending", "expired", code="AI_APPROVAL_EXPIRED",
            result={"code": "AI_APPROVAL_EXPIRED", "message": message},
        )  # fmt: skip
        if expired is None:
            return False
        run_id = call.run_id
        await self._events.append(run_id, ToolApprovalExpired(tool_call_id=str(call.id)))
        await tell(self._events, expired)
        await self.end_unheld(run_id, Ending("expired", "AI_APPROVAL_EXPIRED"))
        return True

    async def _closed(self, run: AgentRun) -> RunView:
        """What still waits is void, what was never run gets a record that says so; what is approved stays (D-5)."""
        view = RunView(run, await self._runs.calls_of([run.id]))
        for record in [known for known in view.records if known.outcome == "pending"]:
            voided = await self._runs.move_call(record.id, "pending", "aborted", code="ABORTED", result=_VOID)
            view.remember(voided or await self._runs.call(record.id))
        for call in view.open_calls():
            if view.current(call.id) is None:
                view.remember(await self._runs.keep_call(self._never_run(run, call)))
            closed = view.current(call.id)
            if closed is not None and closed.outcome == "aborted":
                await tell(self._events, closed)
        return view

    def _never_run(self, run: AgentRun, call: StepCall) -> AgentToolCall:
        now = self._clock.now()
        record: AgentToolCall = AgentToolCall.model_construct(
            id=call.id, run_id=run.id, user_id=run.user_id, tool=call.tool or "(none)", args=call.args,
            outcome="aborted", code="ABORTED", result=_NEVER_RUN, created_at=now, updated_at=now,
        )  # fmt: skip
        return record

    def _answers(self, view: RunView) -> list[Step]:
        """Every call that the model made has its result in the transcript, however the run ends (scenario 2.2)."""
        calls = [
            call for call in view.open_calls() if (record := view.current(call.id)) and record.outcome in FINAL_OUTCOMES
        ]
        return result_steps(view, calls, self._clock.now())

    async def _tell_end(self, run: AgentRun, ending: Ending) -> None:
        await self._events.append(run.id, last_event(run, ending.code, ending.content))


def last_event(run: AgentRun, code: ErrorCode | None, content: str) -> MessageDone | RunFailed:
    """The one event that closes a run's stream."""
    if run.status == "complete":
        return MessageDone(
            run_id=str(run.id), content=content, input_tokens=run.input_tokens, output_tokens=run.output_tokens
        )
    safe = code or "INTERNAL"
    return RunFailed(code=safe, message=WORDS[safe], request_id=run.request_id or "")
