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
from app.copilot.approvals import Approvals
from app.copilot.cards import approval_view, kind_of, subject_of, tool_card
from app.copilot.conversation import Conversation, Conversations, title_of
from app.copilot.doors import ai_enabled, start_limit
from app.copilot.engine import RunEngine
from app.copilot.hub import START
from app.copilot.schemas import Decision, MessageIn
from app.copilot.service import CopilotService
from app.copilot.wire_html import HtmlWire, Message, RunState
from app.core.clock import Clock
from app.core.errors import AppError, ValidationFailed
from app.core.ids import is_id, parse_id
from app.core.settings import Settings
from app.runs.errors import ApprovalExpired, ApprovalResolved, ApprovalStale
from app.runs.models import AgentToolCall
from app.runs.service import RunService
from app.web.hx import toast, wants_fragment
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


@dataclass(frozen=True, slots=True)
class DecidedItem:
    """One line of the recent decisions."""

    href: str
    subject: str
    summary: str
    state: str
    reason: str | None
    decided_by: str | None
    decided_at: datetime


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


class ApprovalPages(Controller):
    path = _APPROVALS
    guards = (signed_in,)
    include_in_schema = False

    @get()
    async def all(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        approvals: NamedDependency[Approvals],
        clock: NamedDependency[Clock],
    ) -> Page:
        views = [
            approval_view(call, person.name, clock.now(), approvals.token(call))
            for call in await approvals.pending(person)
        ]
        recent = [_decided(call, person) for call in await approvals.decided(person)]
        return await pages.page_or_fragment(
            request, "copilot/approvals.html", "copilot/_approvals.html", nav="approvals", pending=views, recent=recent
        )

    @get("/{call_id:str}")
    async def one(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        approvals: NamedDependency[Approvals],
        clock: NamedDependency[Clock],
        call_id: FromPath[str],
    ) -> Page:
        call = await approvals.get(person, parse_id(call_id))
        return await _shown(request, pages, call, person, approvals=approvals, clock=clock)

    @post("/{call_id:str}/decide", status_code=200)
    async def decide(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        approvals: NamedDependency[Approvals],
        clock: NamedDependency[Clock],
        call_id: FromPath[str],
    ) -> Page:
        """Answers within a blink: the modal closes and the card goes on; or the card says why not."""
        decision = parse(Decision, _decision(await read_form(request)))
        try:
            await approvals.decide(person, parse_id(call_id), decision)
        except (ApprovalExpired, ApprovalResolved, ApprovalStale) as refused:
            return await _refused(request, pages, person, call_id, refused, approvals=approvals, clock=clock)
        said = "Approved. It is being done." if decision.approve else "Rejected. Nothing was changed."
        if not wants_fragment(request):
            return see_other(_APPROVALS)
        return Response("", media_type="text/html", headers=_told(said))

    @post("/{call_id:str}/extend", status_code=200)
    async def extend(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        approvals: NamedDependency[Approvals],
        clock: NamedDependency[Clock],
        call_id: FromPath[str],
    ) -> Page:
        try:
            call = await approvals.extend(person, parse_id(call_id))
        except (ApprovalExpired, ApprovalResolved) as refused:
            return await _refused(request, pages, person, call_id, refused, approvals=approvals, clock=clock)
        return await _shown(request, pages, call, person, approvals=approvals, clock=clock)


@post("/app/tool-calls/{call_id:str}/undo", guards=[signed_in], status_code=200, include_in_schema=False)
async def undo(
    request: AnyRequest,
    person: NamedDependency[Person],
    pages: NamedDependency[Pages],
    approvals: NamedDependency[Approvals],
    call_id: FromPath[str],
) -> Page:
    """Takes an executed change back; the card shows it."""
    call = await approvals.undo(person, parse_id(call_id))
    if not wants_fragment(request):
        gone = kind_of(call) == "create"
        return see_other("/app/work-orders" + ("" if gone else f"/{call.target_id}") + "?done=undone")
    return await pages.fragment(
        request,
        "copilot/_tool_card.html",
        call=tool_card(call),
        headers=toast("Undone. The order is as it was before."),
    )


class RunPages(Controller):
    path = "/app/runs"
    guards = (signed_in,)
    include_in_schema = False

    @get()
    async def own(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        runs: NamedDependency[RunService],
    ) -> Page:
        page = _page_number(request)
        found = await runs.own_page(person.id, page, 20)
        titles = await runs.titles([parse_id(item.id) for item in found.items])
        rows = [
            dict(item) | {"title": titles.get(item.id) or "A conversation turn", "cost_usd": item.spent_usd or 0}
            for item in found.items
        ]
        listed = {"items": rows, "page": found.page, "limit": found.limit, "total": found.total}
        return await pages.page(request, "runs/list.html", nav="runs", runs=listed)

    @get("/{run_id:str}")
    async def one(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        runs: NamedDependency[RunService],
        conversations: NamedDependency[Conversations],
        run_id: FromPath[str],
    ) -> Page:
        run = await runs.own(person.id, parse_id(run_id))
        shown = {
            "id": str(run.id), "title": title_of(run), "status": run.status, "error_code": run.error_code,
            "error_text": None, "started_at": run.started_at or run.created_at, "finished_at": run.finished_at,
            "input_tokens": run.input_tokens, "output_tokens": run.output_tokens, "cost_usd": run.spent_usd,
            "model": run.model,
        }  # fmt: skip
        entries = await conversations.of_run(run, person)
        return await pages.page(request, "runs/detail.html", nav="runs", run=shown, entries=entries)


PAGES: list[ControllerRouterHandler] = [CopilotPages, ApprovalPages, undo, RunPages]


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


async def _shown(
    request: AnyRequest, pages: Pages, call: AgentToolCall, person: Person, *, approvals: Approvals, clock: Clock
) -> Page:
    view = approval_view(call, person.name, clock.now(), approvals.token(call))
    return await pages.page_or_fragment(
        request, "copilot/approval.html", "copilot/_approval_modal.html", nav="approvals", approval=view
    )


async def _refused(
    request: AnyRequest,
    pages: Pages,
    person: Person,
    call_id: str,
    why: AppError,
    *,
    approvals: Approvals,
    clock: Clock,
) -> Page:
    """Expired, stale or decided elsewhere: the same card says so; a stale one is followed by its successor."""
    call = await approvals.get(person, parse_id(call_id))
    if call.superseded_by is not None:
        call = await approvals.get(person, call.superseded_by)
    view = approval_view(call, person.name, clock.now(), approvals.token(call))
    if not wants_fragment(request):
        return await pages.page(request, "copilot/approval.html", status=why.status, nav="approvals", approval=view)
    return await pages.fragment(
        request, "copilot/_approval_modal.html", approval=view, headers=_told(why.message, "problem")
    )


def _told(message: str, kind: str = "done") -> dict[str, str]:
    both = toast(message, kind)["HX-Trigger"]
    return {"HX-Trigger": both[:-1] + ', "approvals-changed": {}}'}


def _message(values: dict[str, str], request: AnyRequest) -> dict[str, Any]:
    """The text, and the order on the person's screen if the address names one."""
    order = values.get("workOrderId") or _order_in(request.headers.get("hx-current-url", ""))
    return {"content": values.get("message", "")} | ({"workOrderId": order} if is_id(order) else {})


def _order_in(address: str) -> str:
    _, found, rest = address.partition("/app/work-orders/")
    return rest[:24] if found else ""


def _decision(values: dict[str, str]) -> dict[str, Any]:
    choice = values.get("decision")
    if choice not in ("approve", "reject"):
        raise ValidationFailed("Choose approve or reject.")
    body: dict[str, Any] = {"approve": choice == "approve"}
    if values.get("reason") and choice == "reject":
        body["reason"] = values["reason"]
    if values.get("confirmation_token"):
        body["confirmationToken"] = values["confirmation_token"]
    return body


def _decided(call: AgentToolCall, person: Person) -> DecidedItem:
    approval = call.approval
    decided_by = approval.decided_by if approval else None
    return DecidedItem(
        href=f"{_APPROVALS}/{call.id}",
        subject=subject_of(call),
        summary=approval.summary if approval else "",
        state=call.outcome,
        reason=approval.reason if approval else None,
        decided_by=person.name if decided_by == str(person.id) else decided_by,
        decided_at=(approval.decided_at if approval else None) or call.updated_at,
    )


def _page_number(request: AnyRequest) -> int:
    text = request.query_params.get("page", "1")
    return min(max(int(text), 1), 10_000) if text.isascii() and text.isdigit() and len(text) < 6 else 1
