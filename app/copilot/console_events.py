"""The console dialect's events, named and shaped as 001 names them (T-14). Each class is the data of one event.

On the wire the name stands in the `event:` line, so the data holds the listed fields and nothing else.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from app.copilot.events import ErrorCode
from app.core.schemas import Moment

ConsoleStatus = Literal[
    "running", "waiting_for_confirmation", "complete", "error", "budget_exceeded", "expired", "aborted"
]
"""A run's own states, and the one in which it waits for its person."""
EndReason = Literal["complete", "error", "budget_exceeded", "expired", "aborted"]


class ConsoleEvent(BaseModel):
    """One event; `name` is its SSE name. A field that was not set is left out."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=False)
    name: ClassVar[str]

    def data(self) -> dict[str, Any]:
        """The payload, ready for JSON."""
        return self.model_dump(mode="json", exclude_unset=True)


class Thinking(ConsoleEvent):
    """The model is at work: `content` says on what, never its reasoning."""

    name: ClassVar[str] = "thinking"
    content: str


class Message(ConsoleEvent):
    """The next piece of what the model says: the pieces in their order are the text."""

    name: ClassVar[str] = "message"
    content: str


class ToolCall(ConsoleEvent):
    """A call that the model asked for. `arguments` is null where it sent none that can be read."""

    name: ClassVar[str] = "tool_call"
    id: str
    tool_name: str
    arguments: dict[str, Any] | None


class ToolAnswer(ConsoleEvent):
    """What became of a call, once for each. `success`: it ran. `result` tells why it did not."""

    name: ClassVar[str] = "tool_result"
    tool_call_id: str
    result: Any
    success: bool
    duration_ms: int


class Metrics(ConsoleEvent):
    """What the run has used so far; after each round of calls, and before the end."""

    name: ClassVar[str] = "metrics"
    loop_count: int
    tokens_used: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    uptime_seconds: float


class StatusChanged(ConsoleEvent):
    """The run's state. The first one of a stream names the chat."""

    name: ClassVar[str] = "status_changed"
    status: ConsoleStatus
    message: str = ""
    chat_id: str = ""


class ConfirmationRequired(ConsoleEvent):
    """What waits for the person's word, and the token that gives it at `/api/ai/confirm` (T-12).

    `diff` is field → `{before, after}`; in a creation nothing was before, a deletion has the one field `deleted`.
    """

    name: ClassVar[str] = "confirmation_required"
    endpoint: str
    method: str
    reason: str
    escalated: bool
    timestamp: Moment
    tool_call_id: str
    tool_name: str
    risk: str
    confirmation_token: str
    expires_at: Moment
    diff: dict[str, Any]


class StreamError(ConsoleEvent):
    """Why the run did not complete; told before the end. `recoverable`: asking again may help."""

    name: ClassVar[str] = "error"
    code: ErrorCode
    message: str
    recoverable: bool


class StreamEnd(ConsoleEvent):
    """The last event of every stream, once."""

    name: ClassVar[str] = "stream_end"
    reason: EndReason
    had_error: bool


CONSOLE_EVENTS: tuple[type[ConsoleEvent], ...] = (
    Thinking,
    Message,
    ToolCall,
    ToolAnswer,
    Metrics,
    StatusChanged,
    ConfirmationRequired,
    StreamError,
    StreamEnd,
)
"""The closed set (T-14)."""
