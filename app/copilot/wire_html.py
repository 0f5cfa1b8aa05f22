"""The drawer's dialect: each message is a handful of `<hx-partial>` fragments; `run-end` is the one named event.

A renderer lives as long as one connection. It is told silently what came before the cursor, so that a resumed stream
goes on in the bubble that it finds in the page (D-2).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from bson import ObjectId
from markupsafe import Markup

from app.accounts.people import Person
from app.copilot.approvals import Approvals
from app.copilot.cards import approval_view, running_card, tool_card
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
from app.copilot.markdown import rendered
from app.copilot.watching import Watching
from app.core.clock import Clock
from app.runs.service import RunService
from app.web.pages import Pages
from app.web.sse import comment, frame

RENDER_EVERY_S = 0.1
RUN_END = "run-end"
_NO_MARKUP = Markup("")


@dataclass(frozen=True, slots=True)
class RunState:
    """The line under the box: `state` is idle, running or waiting."""

    id: str
    state: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A bubble: `n` makes its element's id."""

    n: str
    html: Markup = _NO_MARKUP
    error: str | None = None
    retry_text: str | None = None
    text: str = ""


@dataclass(slots=True)
class _Bubble:
    """What the model says between two calls."""

    run_id: str
    number: int = 0
    text: str = ""
    shown: bool = False
    drawn_at: float = 0.0
    dirty: bool = False

    @property
    def n(self) -> str:
        return f"{self.run_id}-{self.number}"

    def close(self) -> None:
        if self.shown or self.text:
            self.number += 1
        self.text, self.shown, self.dirty = "", False, False


@dataclass(slots=True)
class _View:
    bubble: _Bubble
    cards: set[str] = field(default_factory=set)


class HtmlWire:
    """A run as fragments for its owner's drawer."""

    def __init__(self, watching: Watching, runs: RunService, approvals: Approvals, pages: Pages, clock: Clock) -> None:
        self._watching = watching
        self._runs = runs
        self._approvals = approvals
        self._pages = pages
        self._clock = clock

    async def frames(self, run_id: ObjectId, person: Person, cursor: str) -> AsyncIterator[bytes]:
        """Frames after `cursor`, then `run-end`."""
        view = _View(_Bubble(str(run_id)))
        for event in await self._watching.before(run_id, cursor):
            _note(view, event)
        async for item in self._watching.follow(run_id, cursor):
            if not isinstance(item, Entry):
                yield comment()
                continue
            html = await self._fragments(view, item.event, person)
            if html:
                yield frame(html, entry_id=item.id)
        yield frame("{}", event=RUN_END)

    async def _fragments(self, view: _View, event: RunEvent, person: Person) -> str:  # noqa: PLR0911 - one per event
        match event:
            case Token(content=content):
                return self._say(view.bubble, content)
            case ToolCallStart():
                card = self._render(
                    "copilot/_tool_card.html", call=running_card(event.tool_call_id, event.tool, event.args)
                )
                said = self._finish_bubble(view.bubble)
                known = event.tool_call_id in view.cards
                view.cards.add(event.tool_call_id)
                return said + (self._replace(event.tool_call_id, card) if known else _append(card))
            case ToolApprovalRequired():
                return await self._ask(event, person)
            case ToolApprovalExpired():
                return ""
            case ToolResult():
                return await self._result(event, person)
            case MessageDone():
                return self._finish_bubble(view.bubble) + self._state(RunState("", "idle"))
            case RunFailed():
                return self._finish_bubble(view.bubble) + await self._failure(view, event, person)

    def _say(self, bubble: _Bubble, content: str) -> str:
        """The bubble, then its text about ten times a second; what is not drawn now is drawn with the next piece."""
        bubble.text += content
        bubble.dirty = True
        now = asyncio.get_running_loop().time()
        if not bubble.shown:
            # with its text: the drawer finds all targets of a message before it swaps the first of them
            bubble.shown, bubble.dirty, bubble.drawn_at = True, False, now
            message = Message(bubble.n, rendered(bubble.text))
            return _append(self._render("copilot/_assistant_message.html", message=message))
        if now - bubble.drawn_at < RENDER_EVERY_S:
            return ""
        bubble.drawn_at = now
        return self._draw(bubble)

    def _draw(self, bubble: _Bubble) -> str:
        bubble.dirty = False
        return _partial(f"#m-{bubble.n} .md", "innerMorph", rendered(bubble.text))

    def _finish_bubble(self, bubble: _Bubble) -> str:
        drawn = self._draw(bubble) if bubble.dirty else ""
        bubble.close()
        return drawn

    async def _ask(self, event: ToolApprovalRequired, person: Person) -> str:
        """The card and the modal, from the record as it stands now: it may be decided already."""
        call = await self._runs.call(ObjectId(event.tool_call_id))
        if call.outcome != "pending":
            return self._replace(event.tool_call_id, self._render("copilot/_tool_card.html", call=tool_card(call)))
        view = approval_view(call, person.name, self._clock.now(), self._approvals.token(call))
        card = self._render("copilot/_approval_card.html", approval=view)
        modal = self._render("copilot/_approval_modal.html", approval=view)
        return (
            self._replace(event.tool_call_id, card)
            + _partial("#approval-modal", "innerHTML", modal)
            + self._state(RunState(str(call.run_id), "waiting"))
            + await self._count(person)
        )

    async def _result(self, event: ToolResult, person: Person) -> str:
        call = await self._runs.call(ObjectId(event.tool_call_id))
        card = self._render("copilot/_tool_card.html", call=tool_card(call))
        fragments = self._replace(event.tool_call_id, card)
        if call.approval is not None:
            fragments += self._state(RunState(str(call.run_id), "running")) + await self._count(person)
        return fragments

    async def _failure(self, view: _View, event: RunFailed, person: Person) -> str:
        message = Message(view.bubble.n, error=event.message, retry_text=await self._asked(view.bubble.run_id))
        bubble = self._render("copilot/_assistant_message.html", message=message)
        return _append(bubble) + self._state(RunState("", "idle")) + await self._count(person)

    async def _asked(self, run_id: str) -> str | None:
        """What the person said, so that they can try again with one press."""
        run = await self._runs.get(ObjectId(run_id))
        return run.transcript[0].content if run.transcript else None

    async def _count(self, person: Person) -> str:
        return self._render("copilot/_pending_count.html", pending_approvals=await self._runs.count_pending(person.id))

    def _state(self, state: RunState) -> str:
        return _partial("#copilot-where", "innerHTML", self._render("copilot/_state.html", run=state))

    def _replace(self, call_id: str, card: str) -> str:
        return _partial(f"#call-{call_id}", "outerHTML", card)

    def _render(self, template: str, **values: object) -> str:
        return self._pages.render(template, now=self._clock.now(), **values)


def _note(view: _View, event: RunEvent) -> None:
    """What the page has already."""
    if isinstance(event, Token):
        view.bubble.text += event.content
        view.bubble.shown = True
    elif isinstance(event, ToolCallStart):
        view.bubble.close()
        view.cards.add(event.tool_call_id)


def _append(html: str) -> str:
    return _partial("#copilot-log", "beforeend", html)


def _partial(target: str, swap: str, html: str) -> str:
    return f'<hx-partial hx-target="{target}" hx-swap="{swap}">{html}</hx-partial>'
