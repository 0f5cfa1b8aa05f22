"""The review queue: what the gate kept, until a dispatcher runs or refuses it (HTTP-5, T-8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ControllerRouterHandler
from pydantic import Field

from app.accounts.forms import parse_form, read_form
from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.accounts.service import AccountsService
from app.copilot.review_cards import ReviewCard, people_in, review_card
from app.copilot.reviewing import Reviewing
from app.core.errors import Conflict
from app.core.ids import parse_id
from app.core.schemas import Strict, Text
from app.tools.models import ToolReview
from app.tools.reviews import ReviewQueue
from app.web.hx import toast, wants_fragment
from app.web.pages import Pages, see_other

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

_PATH = "/app/admin/review"
_SAID = {
    "run": "It was run, as the person who asked.",
    "released": "It is being run.",
    "failed": "It was tried and did not work. The run says why.",
    "refused": "Refused. Nothing was run, and the person is told.",
}


class RunForm(Strict):
    """The hash of the arguments that the dispatcher saw."""

    args_hash: Annotated[str, Field(min_length=1, max_length=64)]


class RefuseForm(Strict):
    reason: Annotated[Text, Field(max_length=500)] = ""


class ReviewPages(Controller):
    path = _PATH
    guards = (admin_only,)
    include_in_schema = False

    @get()
    async def queue(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        reviews: NamedDependency[ReviewQueue],
        accounts: NamedDependency[AccountsService],
    ) -> Page:
        return await _page(request, person, pages, reviews, accounts=accounts)

    @post("/{review_id:str}/run", status_code=200)
    async def run(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        reviews: NamedDependency[ReviewQueue],
        reviewing: NamedDependency[Reviewing],
        accounts: NamedDependency[AccountsService],
        review_id: FromPath[str],
    ) -> Page:
        """Runs what was shown, once; a conflict is told with the request as it stands now."""
        form = parse_form(RunForm, await read_form(request))
        try:
            review = await reviewing.run(person.actor, parse_id(review_id), form.args_hash)
        except Conflict as conflict:
            return await _refused(request, person, pages, reviews, accounts=accounts, review_id=review_id, why=conflict)
        return await _answer(request, pages, reviews, review, accounts=accounts)

    @post("/{review_id:str}/refuse", status_code=200)
    async def refuse(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        reviews: NamedDependency[ReviewQueue],
        reviewing: NamedDependency[Reviewing],
        accounts: NamedDependency[AccountsService],
        review_id: FromPath[str],
    ) -> Page:
        form = parse_form(RefuseForm, await read_form(request))
        try:
            review = await reviewing.refuse(person.actor, parse_id(review_id), form.reason or None)
        except Conflict as conflict:
            return await _refused(request, person, pages, reviews, accounts=accounts, review_id=review_id, why=conflict)
        return await _answer(request, pages, reviews, review, accounts=accounts)


PAGES: list[ControllerRouterHandler] = [ReviewPages]


async def _page(
    request: AnyRequest,
    person: Person,
    pages: Pages,
    reviews: ReviewQueue,
    *,
    accounts: AccountsService,
    problem: Conflict | None = None,
) -> Page:
    """What waits, and below it what was decided lately."""
    waiting, decided = await reviews.waiting(person.actor), await reviews.decided(person.actor)
    cards = await _cards([*waiting, *decided], accounts)
    done = request.query_params.get("done", "")
    message = _SAID.get(done)
    return await pages.page(
        request,
        "agents/review.html",
        status=problem.status if problem else 200,
        nav="review",
        waiting=cards[: len(waiting)],
        decided=cards[len(waiting) :],
        problem=problem.message if problem else None,
        flash={"kind": "problem" if done == "failed" else "done", "message": message} if message else None,
    )


async def _answer(
    request: AnyRequest, pages: Pages, reviews: ReviewQueue, review: ToolReview, *, accounts: AccountsService
) -> Page:
    if not wants_fragment(request):
        return see_other(f"{_PATH}?done={review.status}")
    told = toast(_SAID[review.status], "problem" if review.status == "failed" else "done")
    return await _card(request, pages, reviews, review, accounts=accounts, headers=told)


async def _refused(
    request: AnyRequest,
    person: Person,
    pages: Pages,
    reviews: ReviewQueue,
    *,
    accounts: AccountsService,
    review_id: str,
    why: Conflict,
) -> Page:
    """Decided elsewhere, or not as it was shown: the request as it is now, and why nothing was done."""
    if not wants_fragment(request):
        return await _page(request, person, pages, reviews, accounts=accounts, problem=why)
    review = await reviews.get(person.actor, parse_id(review_id))
    return await _card(request, pages, reviews, review, accounts=accounts, problem=why)


async def _card(
    request: AnyRequest,
    pages: Pages,
    reviews: ReviewQueue,
    review: ToolReview,
    *,
    accounts: AccountsService,
    problem: Conflict | None = None,
    headers: dict[str, str] | None = None,
) -> Page:
    [card] = await _cards([review], accounts)
    return await pages.fragment(
        request,
        "agents/_review_answer.html",
        status=problem.status if problem else 200,
        headers=headers,
        review=card,
        problem=problem.message if problem else None,
        reviews_waiting=await reviews.count_waiting(),
    )


async def _cards(reviews: Sequence[ToolReview], accounts: AccountsService) -> list[ReviewCard]:
    names = await accounts.refs(people_in(reviews))
    return [review_card(review, names) for review in reviews]
