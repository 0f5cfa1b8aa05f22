"""Approvals in HTML: decide, extend, undo, and the page of all that awaits one (COP-7, HTTP-5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, HeaderParameter
from litestar.types import ControllerRouterHandler

from app.accounts.forms import read_form
from app.accounts.guards import signed_in
from app.accounts.people import Person
from app.copilot.approvals import Approvals
from app.copilot.card_words import is_preview, kind_of, noun_of, subject_of
from app.copilot.cards import approval_view, tool_card
from app.copilot.conversation import Conversation
from app.copilot.schemas import Decision
from app.copilot.wire_html import RunState
from app.core.clock import Clock
from app.core.errors import AppError, ValidationFailed
from app.core.ids import parse_id
from app.runs.errors import ApprovalExpired, ApprovalResolved, ApprovalStale
from app.runs.models import AgentToolCall
from app.tools.models import ToolReview
from app.tools.reviews import ReviewQueue
from app.web.hx import toast, wants_fragment
from app.web.pages import Pages, see_other
from app.web.validation import parse

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", max_length=40)]
IdempotencyKey = Annotated[str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=200)]

_IDLE = Conversation([], RunState("", "idle"))
_COPILOT, _APPROVALS = "/app/copilot", "/app/approvals"


@dataclass(frozen=True, slots=True)
class DecidedItem:
    """One line of the recent decisions. `word` says more than the state, where a dispatcher decides (T-8)."""

    href: str
    subject: str
    summary: str
    state: str
    reason: str | None
    decided_by: str | None
    decided_at: datetime
    word: str | None = None


class ApprovalPages(Controller):
    path = _APPROVALS
    guards = (signed_in,)
    include_in_schema = False

    @get()
    async def all(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        approvals: NamedDependency[Approvals],
        reviews: NamedDependency[ReviewQueue],
        clock: NamedDependency[Clock],
    ) -> Page:
        views = [
            approval_view(call, person.name, clock.now(), approvals.token(call))
            for call in await approvals.pending(person)
        ]
        decided = [_decided(call, person) for call in await approvals.decided(person) if call.review_id is None]
        kept = [_reviewed(review) for review in await reviews.of_requester(person.id)]
        recent = sorted([*decided, *kept], key=lambda item: item.decided_at, reverse=True)
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
            decided = await approvals.decide(person, parse_id(call_id), decision)
        except (ApprovalExpired, ApprovalResolved, ApprovalStale) as refused:
            return await _refused(request, pages, person, call_id, refused, approvals=approvals, clock=clock)
        done = "Approved. The copilot may send it once." if is_preview(decided) else "Approved. It is being done."
        said = done if decision.approve else "Rejected. Nothing was changed."
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
        gone = kind_of(call.tool) == "create"
        return see_other("/app/work-orders" + ("" if gone else f"/{call.target_id}") + "?done=undone")
    return await pages.fragment(
        request,
        "copilot/_tool_card.html",
        call=tool_card(call),
        headers=toast("Undone. The order is as it was before."),
    )


PAGES: list[ControllerRouterHandler] = [ApprovalPages, undo]

_REVIEWED = {
    "waiting": ("waiting", "Waits for a dispatcher"),
    "released": ("approved", "A dispatcher runs it"),
    "run": ("executed", "Run by a dispatcher"),
    "refused": ("rejected", "Refused by a dispatcher"),
    "failed": ("error", "Run by a dispatcher, did not work"),
}
"""State and words of a request in the review queue, for the person who asked."""


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
        word="Approved" if is_preview(call) and call.outcome == "executed" else None,
    )


def _reviewed(review: ToolReview) -> DecidedItem:
    state, word = _REVIEWED[review.status]
    return DecidedItem(
        href=f"{_APPROVALS}/{review.ran_as}" if review.ran_as else f"/app/runs/{review.run_id}",
        subject=noun_of(review),
        summary=review.summary,
        state=state,
        reason=review.reason,
        decided_by="a dispatcher" if review.decided_by else None,
        decided_at=review.decided_at or review.created_at,
        word=word,
    )
