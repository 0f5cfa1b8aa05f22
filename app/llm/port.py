"""What the desk asks of a language model, and what it gets back. No HTTP here: see `openai_compat`.

A provider answers one step: text, and calls that it asks for. Nothing in an answer is trusted (SEC-3): arguments are
either one strict JSON object, or the call is a `CallFault` that never reaches a tool (D-9).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from app.core.errors import AppError

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as the model sees it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallRef:
    """A call inside an assistant message of the transcript. `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the transcript, in the OpenAI chat vocabulary."""

    role: Role
    content: str
    calls: tuple[CallRef, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One step. `max_tokens` bounds the answer. `schema` asks for structured output (D-25): its JSON Schema."""

    messages: tuple[ChatMessage, ...]
    max_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, as it was sent."""

    text: str


@dataclass(frozen=True, slots=True)
class CallRequested:
    """A complete call with strictly parsed arguments. `provider_id` is the model's own id, perhaps made up by us."""

    provider_id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallFault:
    """A call that cannot be run as it came (D-9): `reason` is one plain sentence for the model and the record."""

    provider_id: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens billed. Both are reported, or there is no usage at all."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class StepDone:
    """The end of the step. `usage` is None where the provider did not say: the reservation is charged (D-10)."""

    usage: Usage | None


Delta = TextDelta | CallRequested | CallFault | StepDone


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer."""

    text: str
    calls: tuple[CallRequested, ...] = ()
    faults: tuple[CallFault, ...] = ()
    usage: Usage | None = None


class ProviderUnavailable(AppError):
    """Unreachable, timed out, over the size cap, an error status, or a stream that broke off (COP-9)."""

    code: ClassVar[str] = "AI_UNAVAILABLE"
    status: ClassVar[int] = 503
    default_message: ClassVar[str] = "The AI service did not answer. Nothing was changed; try again in a moment."

    def __init__(self, reason: str) -> None:
        """`reason` is for the log: short, without addresses, keys, or anything of the prompt or the answer."""
        super().__init__()
        self.reason = reason


class ChatProvider(Protocol):
    """One step of a conversation."""

    def stream(self, request: ChatRequest) -> AsyncIterator[Delta]:
        """Deltas as they arrive: text at once, calls when the answer is whole, `StepDone` last.

        Raises `ProviderUnavailable`; then no call of the step was yielded. Closing the iterator ends the request.
        """
        ...

    async def complete(self, request: ChatRequest) -> Completion:
        """The whole answer in one piece. Raises `ProviderUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens."""

    input_per_1m: float
    output_per_1m: float

    def cost(self, usage: Usage) -> float:
        """US dollars of `usage`."""
        return (usage.input_tokens * self.input_per_1m + usage.output_tokens * self.output_per_1m) / 1_000_000
