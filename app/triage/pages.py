"""The suggestion on a work order's page: a fragment that asks by itself, and the forms that decide (D-14, D-15)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.accounts.actors import Actor
from app.accounts.guards import may_write, signed_in
from app.accounts.people import Person
from app.core.errors import Conflict
from app.core.ids import is_id, parse_id
from app.triage.suggestions import LOOKS_MAX, SuggestionService
from app.web.hx import is_htmx
from app.web.pages import Pages, see_other

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

_FRAGMENT = "triage/_suggestion.html"
_HINTS_MOST = 100


@dataclass(frozen=True, slots=True)
class Decision:
    """What a form does, and what is said once it is done."""

    decide: Callable[[Actor, ObjectId], Awaitable[object]]
    done: str


class OrderSuggestionPage(Controller):
    path = "/app/work-orders/{order_id:str}/suggestion"
    guards = (signed_in,)
    include_in_schema = False

    @get()
    async def card(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        suggestions: NamedDependency[SuggestionService],
        order_id: FromPath[str],
    ) -> Page:
        card = await suggestions.card(person.actor, parse_id(order_id), _look(request))
        return await pages.fragment(request, _FRAGMENT, suggestion=card, order_id=order_id)


class HintsPage(Controller):
    path = "/app/triage/hints"
    guards = (signed_in,)
    include_in_schema = False

    @get()
    async def hints(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        suggestions: NamedDependency[SuggestionService],
    ) -> Page:
        """What triage suggests for the orders on a list; `orders` holds their ids, joined by commas."""
        ids = [ObjectId(one) for one in request.query_params.get("orders", "").split(",")[:_HINTS_MOST] if is_id(one)]
        return await pages.fragment(request, "triage/_hints.html", hints=await suggestions.hints(person.actor, ids))


class SuggestionForms(Controller):
    path = "/app/triage/suggestions/{suggestion_id:str}"
    guards = (signed_in, may_write)
    include_in_schema = False

    @post("/apply", status_code=200)
    async def apply(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        suggestions: NamedDependency[SuggestionService],
        suggestion_id: FromPath[str],
    ) -> Page:
        decision = Decision(suggestions.apply, "Priority applied.")
        return await _decide(request, person, pages, suggestions, parse_id(suggestion_id), decision)

    @post("/dismiss", status_code=200)
    async def dismiss(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        suggestions: NamedDependency[SuggestionService],
        suggestion_id: FromPath[str],
    ) -> Page:
        decision = Decision(suggestions.dismiss, "Suggestion dismissed.")
        return await _decide(request, person, pages, suggestions, parse_id(suggestion_id), decision)

    @post("/undo", status_code=200)
    async def undo(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        suggestions: NamedDependency[SuggestionService],
        suggestion_id: FromPath[str],
    ) -> Page:
        decision = Decision(suggestions.undo, "Priority taken back.")
        return await _decide(request, person, pages, suggestions, parse_id(suggestion_id), decision)


async def _decide(  # noqa: PLR0917 - what a form handler holds, in its order
    request: AnyRequest,
    person: Person,
    pages: Pages,
    suggestions: SuggestionService,
    wanted: ObjectId,
    decision: Decision,
) -> Page:
    """The card as it is then, a conflict told on it; without htmx back to the order."""
    problem = None
    try:
        await decision.decide(person.actor, wanted)
    except Conflict as error:
        problem = error
    order_id = str(await suggestions.order_of(person.actor, wanted))
    if not is_htmx(request):
        return see_other(f"/app/work-orders/{order_id}")
    card = await suggestions.card_after(person.actor, wanted, problem)
    toast = {"message": problem.message if problem else decision.done, "kind": "problem" if problem else "done"}
    events: dict[str, Any] = {"toast": toast, "work-order-changed": {}}
    return await pages.fragment(
        request,
        _FRAGMENT,
        status=409 if problem else 200,
        headers={"HX-Trigger": json.dumps(events, ensure_ascii=True)},
        suggestion=card,
        order_id=order_id,
    )


def _look(request: AnyRequest) -> int:
    """How often the page has looked already; what is no number looks no more."""
    text = request.query_params.get("look", "1")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else LOOKS_MAX


PAGES = [OrderSuggestionPage, HintsPage, SuggestionForms]
