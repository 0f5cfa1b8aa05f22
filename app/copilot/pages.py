"""The copilot in HTML: drawer, stream, decisions, approvals (COP-7, HTTP-5). Everything works as plain pages too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, HeaderParameter
from litestar.response import Stream
from litestar.types import ControllerRouterHandler

from app.accounts.forms import read_form
from app.accounts.guards import signed_in
from app.accounts.people import Person
from app.copilot.conversation import Conversation, Conversations
from app.copilot.doors import ai_enabled, start_limit
from app.copilot.engine import RunEngine
from app.copilot.hub import START
from app.copilot.schemas import MessageIn
from app.copilot.service import CopilotService
from app.copilot.wire_html import HtmlWire, Message, RunState
from app.core.ids import is_id, parse_id
from app.core.settings import Settings
from app.runs.service import RunService
from app.web.hx import wants_fragment
from app.web.limits import RateLimiter
from app.web.pages import Pages, see_other
from app.web.request_context import request_id
from app.web.sse import event_stream
from app.web.validation import parse

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", max_length=40)]
IdempotencyKey = Annotated[str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=200)]

_IDLE = Conversation([], RunState("", "idle"))
_COPILOT, _APPROVALS = "/app/copilot", "/app/approvals"


@dataclass(frozen=True, slots=True)
class SessionItem:
    """One line of the history menu."""

    id: str
    title: str
    updated_at: datetime
    current: bool


class CopilotPages(Controller):
    path = _COPILOT
    guards = (signed_in,)
    include_in_schema = False

    @get()
    async def page(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        copilot: NamedDependency[CopilotService],
        conversations: NamedDependency[Conversations],
    ) -> Page:
        values = await _drawer(request, person, copilot, conversations)
        return await pages.page(request, "copilot/page.html", nav="copilot", **values)

    @get("/drawer")
    async def drawer(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        copilot: NamedDependency[CopilotService],
        conversations: NamedDependency[Conversations],
    ) -> Page:
        values = await _drawer(request, person, copilot, conversations)
        return await pages.fragment(request, "copilot/_drawer.html", **values)

    @post("/sessions", guards=[ai_enabled], status_code=200)
    async def new_session(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        copilot: NamedDependency[CopilotService],
        conversations: NamedDependency[Conversations],
    ) -> Page:
        await copilot.open_session(person)
        if not wants_fragment(request):
            return see_other(_COPILOT)
        values = await _drawer(request, person, copilot, conversations)
        return await pages.fragment(request, "copilot/_drawer.html", **values)

    @post("/messages", guards=[ai_enabled], status_code=200)
    async def send(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        copilot: NamedDependency[CopilotService],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
        idempotency_key: IdempotencyKey = None,
    ) -> Page:
        values = await read_form(request)
        message = parse(MessageIn, _message(values, request))
        session = await copilot.current_session(person)
        run = await copilot.send(
            person,
            session.id,
            message,
            request_id=request_id(request),
            idempotency_key=idempotency_key,
            limit=start_limit(request, person, limiter, settings),
        )
        if not wants_fragment(request):
            return see_other(_COPILOT)
        bubble = Message(f"{run.id}-u0", text=message.content)
        state = RunState(str(run.id), "running")
        return await pages.fragment(request, "copilot/_sent.html", message=bubble, run=state)

    @get("/runs/{run_id:str}/events", guards=[ai_enabled])
    async def events(
        self,
        person: NamedDependency[Person],
        runs: NamedDependency[RunService],
        html_wire: NamedDependency[HtmlWire],
        run_id: FromPath[str],
        last_event_id: LastEventId = None,
    ) -> Stream:
        run = await runs.own(person.id, parse_id(run_id))
        return event_stream(html_wire.frames(run.id, person, last_event_id or START))

    @post("/runs/{run_id:str}/cancel", status_code=200)
    async def cancel(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        runs: NamedDependency[RunService],
        engine: NamedDependency[RunEngine],
        run_id: FromPath[str],
    ) -> Page:
        run = await runs.own(person.id, parse_id(run_id))
        await engine.stop(run.id, "cancel")
        return Response("", media_type="text/html") if wants_fragment(request) else see_other(_COPILOT)


PAGES: list[ControllerRouterHandler] = [CopilotPages]


async def _drawer(
    request: AnyRequest, person: Person, copilot: CopilotService, conversations: Conversations
) -> dict[str, Any]:
    """The chosen session, or the active one, with the history beside it. Looking makes no session."""
    sessions = await copilot.recent(person)
    wanted = request.query_params.get("session", "")
    chosen = next((session for session in sessions if str(session.id) == wanted), None) if is_id(wanted) else None
    chosen = chosen or next((session for session in sessions if session.status == "active"), None)
    shown = await conversations.of_session(chosen.id, person) if chosen else _IDLE
    titles = await copilot.titles(sessions)
    items = [
        SessionItem(str(session.id), title, session.updated_at, session is chosen)
        for session, title in zip(sessions, titles, strict=True)
    ]
    return {"sessions": items, "entries": shown.entries, "run": shown.run}


def _message(values: dict[str, str], request: AnyRequest) -> dict[str, Any]:
    """The text, and the order on the person's screen if the address names one."""
    order = values.get("workOrderId") or _order_in(request.headers.get("hx-current-url", ""))
    return {"content": values.get("message", "")} | ({"workOrderId": order} if is_id(order) else {})


def _order_in(address: str) -> str:
    _, found, rest = address.partition("/app/work-orders/")
    return rest[:24] if found else ""
