"""What the model server answers next: a queue of prepared answers, and the record of what it was asked."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

End = Literal["close", "reset"]
WAIT_S = 10.0
MAX_REQUESTS = 10_000


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to answer with. `arguments` is an object, or text to be sent as it is. The id is made when empty."""

    name: str
    arguments: dict[str, Any] | str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Words, calls, or both. `usage` is (prompt, completion) tokens; None reports none, `"counted"` estimates.

    `before` is awaited before the status line, `middle` after the first chunk with words or calls (streams only).
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: tuple[int, int] | Literal["counted"] | None = "counted"
    before: asyncio.Event | None = None
    middle: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """A response byte for byte. `chunks` are written one by one; `reset` ends it without a clean end.

    `middle` is awaited after the first chunk.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    chunks: tuple[bytes, ...] = ()
    end: End = "close"
    before: asyncio.Event | None = None
    middle: asyncio.Event | None = None


Prepared = Answer | Raw
Step = Prepared | Callable[[dict[str, Any]], Prepared]
"""A prepared answer, or a function from the request's body to one (to use an id that a tool result held)."""


def say(text: str, **options: Any) -> Answer:
    """An answer of words."""
    return Answer(text=text, **options)


def call(name: str, arguments: dict[str, Any] | str | None = None, *, text: str = "", **options: Any) -> Answer:
    """An answer of one tool call."""
    return Answer(text=text, calls=(Call(name, {} if arguments is None else arguments),), **options)


def http_error(status: int, body: str = '{"error":{"message":"scripted failure"}}', **options: Any) -> Raw:
    """An error status with a JSON body."""
    return Raw(status, {"Content-Type": "application/json"}, (body.encode(),), **options)


def playback(recorded: dict[str, Any], **options: Any) -> Raw:
    """A recorded answer: `{mode: stream|complete, status, headers, chunks, end}`; a chunk may be `b64:` + base64."""
    kind = "text/event-stream" if recorded["mode"] == "stream" else "application/json"
    headers = {"Content-Type": kind, **recorded["headers"]}
    chunks = tuple(_bytes(chunk) for chunk in recorded["chunks"])
    return Raw(recorded["status"], headers, chunks, recorded["end"], **options)


class Script:
    """A queue of steps. An empty one leaves the answer to the keyword rules."""

    def __init__(self, *steps: Step) -> None:
        self._steps = deque(steps)
        self._changed = asyncio.Condition()
        self.requests: list[dict[str, Any]] = []
        """The bodies of the chat requests, oldest first, at most `MAX_REQUESTS`."""
        self.headers: list[dict[str, str]] = []
        """The headers of each, names in lower case."""
        self.disconnects = 0
        """How many clients left before their answer was over."""

    def add(self, *steps: Step) -> None:
        self._steps.extend(steps)

    def clear(self) -> None:
        """Drops the steps that were not used."""
        self._steps.clear()

    @property
    def pending(self) -> int:
        return len(self._steps)

    async def take(self, body: dict[str, Any], headers: dict[str, str]) -> Prepared | None:
        """Records a request and gives its answer, None where the script is empty."""
        async with self._changed:
            if len(self.requests) < MAX_REQUESTS:
                self.requests.append(body)
                self.headers.append(headers)
            self._changed.notify_all()
        step = self._steps.popleft() if self._steps else None
        return step(body) if callable(step) else step

    async def note_disconnect(self) -> None:
        async with self._changed:
            self.disconnects += 1
            self._changed.notify_all()

    async def received(self, count: int, timeout_s: float = WAIT_S) -> list[dict[str, Any]]:
        """The requests, once there are `count` of them. Raises `TimeoutError`."""
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def disconnected(self, count: int = 1, timeout_s: float = WAIT_S) -> None:
        """Returns once `count` clients have left early. Raises `TimeoutError`."""
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(lambda: self.disconnects >= count)


def _bytes(chunk: str) -> bytes:
    return base64.b64decode(chunk[4:]) if chunk.startswith("b64:") else chunk.encode()
