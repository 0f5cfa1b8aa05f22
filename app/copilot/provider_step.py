"""One call of the model: money reserved before, text told while it comes, money settled after (D-10, COP-9)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from bson import ObjectId

from app.copilot.events import EventLog, Token
from app.governance.spend import Reservation, SpendLedger
from app.llm.port import (
    CallFault,
    CallRequested,
    ChatProvider,
    ChatRequest,
    Prices,
    StepDone,
    TextDelta,
    Usage,
)
from app.llm.pricing import reservation_usd

EMPTY_ANSWER = "That is all I have. Ask me anything about your work orders."
_TOLD_EVERY_S = 0.03


@dataclass(slots=True)
class Answer:
    """What one step brought. `usage` is what was billed in tokens, zero where the provider did not say."""

    text: str = ""
    calls: list[CallRequested | CallFault] = field(default_factory=list)
    usage: Usage | None = None
    cost_usd: float = 0.0


class ProviderStep:
    """Asks the provider once. Raises `ProviderUnavailable` and `BudgetExceeded`."""

    def __init__(self, provider: ChatProvider, ledger: SpendLedger, prices: Prices, events: EventLog) -> None:
        self._provider = provider
        self._ledger = ledger
        self._prices = prices
        self._events = events

    async def ask(
        self, run_id: ObjectId, user_id: ObjectId, step: int, request: ChatRequest, answer: Answer, *, said: int
    ) -> None:
        """Fills in the answer of step `step`, as far as it comes; text is told as `token` events while it arrives.

        `said`: how many characters the run has said before. One without words or calls becomes a completion notice
        (003 §4.4 rule 2).
        """
        reservation = await self._ledger.reserve(
            f"{run_id}{step:04x}", reservation_usd(request, self._prices), user=str(user_id)
        )
        async with (
            self._settling(reservation, answer),
            self._telling(run_id, said) as words,
            aclosing(self._provider.stream(request)) as deltas,  # type: ignore[type-var]
        ):
            async for delta in deltas:
                match delta:
                    case TextDelta(text):
                        answer.text += text
                        words.add(text)
                    case CallRequested() | CallFault():
                        answer.calls.append(delta)
                    case StepDone(usage):
                        answer.usage = usage
            if not answer.calls and not answer.text.strip():
                answer.text += EMPTY_ANSWER
                words.add(EMPTY_ANSWER)

    @contextlib.asynccontextmanager
    async def _settling(self, reservation: Reservation, answer: Answer) -> AsyncIterator[None]:
        """Settles whatever happens, also when the run is stopped in the middle: then at the reservation."""
        try:
            yield
        finally:
            actual = self._prices.cost(answer.usage) if answer.usage else None
            answer.cost_usd = await asyncio.shield(self._ledger.settle(reservation, actual))

    @contextlib.asynccontextmanager
    async def _telling(self, run_id: ObjectId, said: int) -> AsyncIterator[_Words]:
        words = _Words(run_id, self._events, said)
        teller = asyncio.create_task(words.tell(), name="token-teller")
        try:
            yield words
        finally:
            words.end()
            await teller


class _Words:
    """Gathers what arrives within 30 ms into one `token` event: the first word at once, then in small gulps."""

    def __init__(self, run_id: ObjectId, events: EventLog, said: int) -> None:
        self._run_id = run_id
        self._events = events
        self._said = said
        self._waiting: list[str] = []  # bounded by the provider's byte cap
        self._news = asyncio.Event()
        self._ended = asyncio.Event()

    def add(self, text: str) -> None:
        self._waiting.append(text)
        self._news.set()

    def end(self) -> None:
        self._ended.set()
        self._news.set()

    async def tell(self) -> None:
        while not self._ended.is_set() or self._waiting:
            await self._news.wait()
            self._news.clear()
            if self._waiting:
                text = "".join(self._waiting)
                self._waiting.clear()
                await self._events.append(self._run_id, Token(content=text), at=self._said)
                self._said += len(text)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _TOLD_EVERY_S)
