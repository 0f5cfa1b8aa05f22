"""How runs end: open calls get their result, the record its status, the stream its one last event (D-23)."""

from __future__ import annotations

from bson import ObjectId

from app.copilot.events import ErrorCode, EventLog, MessageDone, RunFailed, ToolApprovalExpired
from app.copilot.loop import Ending
from app.copilot.telling import tell
from app.runs.models import AgentRun, AgentToolCall
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


class Endings:
    """Ends runs that are held, parked, or left behind."""

    def __init__(self, runs: RunService, events: EventLog) -> None:
        self._runs = runs
        self._events = events

    async def end_held(self, run: AgentRun, ending: Ending) -> None:
        """Ends a run that the caller holds. Raises `LeaseLostError`."""
        await self._close_calls(run.id)
        ended = await self._runs.finish(run, ending.status, ending.code)
        await self._tell_end(ended, ending)

    async def end_unheld(self, run_id: ObjectId, ending: Ending) -> bool:
        """Ends a run that nobody holds; False when somebody does."""
        ended = await self._runs.finish_unheld(run_id, ending.status, ending.code)
        if ended is None:
            return False
        await self._close_calls(run_id)
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

    async def _close_calls(self, run_id: ObjectId) -> None:
        """What still waits is void; what is approved is not touched (D-5)."""
        for call in await self._runs.calls_of([run_id]):
            if call.outcome != "pending":
                continue
            message = "The turn was stopped before the person decided. Nothing was run."
            voided = await self._runs.move_call(
                call.id, "pending", "aborted", code="ABORTED",
                result={"code": "ABORTED", "message": message},
            )  # fmt: skip
            if voided is not None:
                await tell(self._events, voided)

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
