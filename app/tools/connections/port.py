"""How a request leaves the desk, and what comes back. The adapter is `http_sender`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request. `secret` is a header and its value, kept out of every representation; times are in seconds."""

    method: str
    url: str
    timeout_s: float
    max_bytes: int
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    secret: tuple[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said. `is_whole` is False where the body is over the limit and was not read (it is empty)."""

    status: int
    content_type: str
    body: bytes
    is_whole: bool = True


class SendFailed(Exception):
    """No answer. `reason` is plain and names no address; `maybe_sent`: the request may have arrived all the same."""

    def __init__(self, reason: str, *, maybe_sent: bool) -> None:
        self.reason = reason
        self.maybe_sent = maybe_sent
        super().__init__(reason)


class Sender(Protocol):
    """Sends one request, once: no redirect, no retry, no proxy, only to where D-19 allows."""

    def refusal(self, base_url: str) -> str | None:
        """Why D-19 refuses this address here, in words that follow the address; None when it may be called."""
        ...

    async def send(self, outgoing: Outgoing) -> Answer:
        """Raises `SendFailed`."""
        ...
