"""The console dialect: 001's event names over the same run, with exactly one end (T-14).

What has no name there is told by those that have: an expired proposal by its result, one that was staged anew by a
further `confirmation_required`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from bson import ObjectId

from app.copilot import console_events as console
from app.copilot.approvals import Approvals
from app.copilot.console_asking import question
from app.copilot.events import (
    Entry,
    MessageDone,
    RunEvent,
    RunFailed,
    Token,
    ToolApprovalExpired,
    ToolApprovalRequired,
    ToolCallStart,
    ToolResult,
)
from app.copilot.hub import START
from app.copilot.watching import Watching
from app.core.clock import Clock
from app.core.logging import get_logger
from app.runs.models import AgentRun
from app.runs.service import RunService
from app.web.sse import comment, frame

log = get_logger(__name__)

_BROKEN_OFF = "This stream broke off on our side. The run itself goes on; look at it among your runs."
_NOT_RECOVERABLE = frozenset({"AI_BUDGET_EXCEEDED"})
_STAYS = frozenset({"stale", "expired", "aborted"})
"""Outcomes after which the model is not asked: something else follows, or the end."""


class ConsoleWire:
    """A run as the console's `text/event-stream`, from its beginning."""

    def __init__(self, watching: Watching, runs: RunService, approvals: Approvals, clock: Clock) -> None:
        self._watching = watching
        self._runs = runs
        self._approvals = approvals
        self._clock = clock

    async def frames(self, run_id: ObjectId, chat_id: ObjectId) -> AsyncIterator[bytes]:
        """Frames up to the one `stream_end`, also where something of ours fails on the way. Pings are comments."""
        story = _Story(self._runs, self._approvals, self._clock, run_id)
        yield _frame(console.StatusChanged(status="running", chat_id=str(chat_id)))
        yield _frame(console.Thinking(content="Reading your message."))
        try:
            async with aclosing(self._watching.follow(run_id, START)) as told:  # type: ignore[type-var]
                async for item in told:
                    if not isinstance(item, Entry):
                        yield comment()
                        continue
                    for event in await story.tell(item.event):
                        yield _frame(event)
        except Exception as fault:  # its text may hold what was said: only its kind is logged
            log.error("console_stream_failed", run_id=str(run_id), error=type(fault).__name__)
        if story.end is None:
            yield _frame(console.StreamError(code="INTERNAL", message=_BROKEN_OFF, recoverable=True))
        yield _frame(story.end or console.StreamEnd(reason="error", had_error=True))


class _Story:
    """One stream's state: what was called and answered, what waits, and `end` once the run's end was told."""

    def __init__(self, runs: RunService, approvals: Approvals, clock: Clock, run_id: ObjectId) -> None:
        self._runs = runs
        self._approvals = approvals
        self._clock = clock
        self._run_id = run_id
        self._called: set[str] = set()
        self._answered: set[str] = set()
        self._waiting: str | None = None
        self.end: console.StreamEnd | None = None

    async def tell(self, event: RunEvent) -> Sequence[console.ConsoleEvent]:
        """`event` in the console's words; nothing for what another event tells."""
        match event:
            case Token(content=content):
                return [*self._goes_on(), console.Message(content=content)]
            case ToolCallStart(tool_call_id=call_id, tool=tool, args=args):
                self._called.add(call_id)
                return [console.ToolCall(id=call_id, tool_name=tool, arguments=args)]
            case ToolApprovalRequired():
                return await self._ask(event)
            case ToolApprovalExpired():
                return []
            case ToolResult():
                return await self._result(event)
            case MessageDone() | RunFailed():
                return await self._ending(event)

    def _goes_on(self) -> list[console.ConsoleEvent]:
        """Says so, if the person was waited for."""
        if self._waiting is None:
            return []
        self._waiting = None
        return [console.StatusChanged(status="running")]

    async def _ask(self, event: ToolApprovalRequired) -> list[console.ConsoleEvent]:
        """The question with its token, which neither stream nor database holds (T-12)."""
        call = await self._runs.call(ObjectId(event.tool_call_id))
        asked: list[console.ConsoleEvent] = [question(call, event.expires_at, self._approvals.token(call))]
        if self._waiting is None:
            asked.append(console.StatusChanged(status="waiting_for_confirmation", message=event.summary))
        self._waiting = event.tool_call_id
        return asked

    async def _result(self, event: ToolResult) -> list[console.ConsoleEvent]:
        call = await self._runs.call(ObjectId(event.tool_call_id))
        self._answered.add(event.tool_call_id)
        result = console.ToolAnswer(
            tool_call_id=event.tool_call_id,
            result=event.result,
            success=event.outcome == "executed",
            duration_ms=call.latency_ms,
        )
        if event.outcome in _STAYS:
            return [result]
        resumed = self._goes_on() if event.tool_call_id == self._waiting else []
        return [*resumed, result, *await self._next_round()]

    async def _next_round(self) -> list[console.ConsoleEvent]:
        """Where every call of a step has its result, the model is asked again. The record may be further already."""
        run = await self._runs.get(self._run_id)
        steps = [{str(call.id) for call in step.calls} for step in run.transcript]
        told = [calls for calls in steps if calls & self._called]
        if not self._called.union(*told) <= self._answered:
            return []
        return [self._metrics(run, len(told)), console.Thinking(content="Reading the result.")]

    async def _ending(self, event: MessageDone | RunFailed) -> list[console.ConsoleEvent]:
        run = await self._runs.get(self._run_id)
        status: console.EndReason = "error" if run.status == "running" else run.status
        told: list[console.ConsoleEvent] = [self._metrics(run, run.step_count), console.StatusChanged(status=status)]
        if isinstance(event, RunFailed):
            recoverable = event.code not in _NOT_RECOVERABLE
            told.append(console.StreamError(code=event.code, message=event.message, recoverable=recoverable))
        self.end = console.StreamEnd(reason=status, had_error=isinstance(event, RunFailed))
        return told

    def _metrics(self, run: AgentRun, loops: int) -> console.Metrics:
        age = (run.finished_at or self._clock.now()) - (run.started_at or run.created_at)
        return console.Metrics(
            loop_count=loops,
            tokens_used=run.input_tokens + run.output_tokens,
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            tool_calls=len(self._called),
            uptime_seconds=round(age.total_seconds(), 3),
        )


def _frame(event: console.ConsoleEvent) -> bytes:
    return frame(json.dumps(event.data(), ensure_ascii=True, separators=(",", ":")), event=event.name)
