"""Every tool and endpoint with its risk, its tier and the rules behind it; raising a tier (HTTP-5, T-1..T-9)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.types import ControllerRouterHandler
from pydantic import Field

from app.accounts.forms import parse_form, read_form
from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.core.errors import AppError, Conflict, Forbidden, NotFound, ValidationFailed
from app.core.schemas import Strict
from app.core.strict_json import StrictJsonError, parse_object
from app.core.unseen import revealed
from app.tools.listing import ListedTool, ToolListing
from app.tools.operating import Operating
from app.tools.policy import TIERS, Exposure, Tier
from app.tools.proof import TIER_MEANINGS, Proof, proof_of
from app.web.hx import toast, wants_fragment
from app.web.pages import Pages, see_other

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

_PATH = "/app/admin/tools"
_RAISED = "Raised. It holds from the next step on, and stands in the audit trail."
_EXPOSURES: dict[Exposure, str] = {
    "open": "Open",
    "requires-confirmation": "Requires confirmation (labelled “review” by its author’s system)",
    "operator-gated": "From the operator’s page only",
}
_MOST_TYPED = 20_000
_MOST_DEPTH = 24
_ANSWER_SHOWN = 20_000
_DESCRIPTION_SHOWN = 200
_ROLES = ("admin", "user", "viewer", "system")


class RaiseForm(Strict):
    name: Annotated[str, Field(min_length=1, max_length=300)]
    tier: Annotated[str, Field(min_length=1, max_length=20)]


class RunForm(Strict):
    """Arguments as typed: one JSON object."""

    name: Annotated[str, Field(min_length=1, max_length=300)]
    arguments: Annotated[str, Field(max_length=_MOST_TYPED)] = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """What an operator just ran: the answer, or the problem, beside the arguments as they were typed."""

    name: str
    typed: str
    answer: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool or endpoint. `higher` are (tier, meaning) of what it can be raised to; `id` is of its element."""

    id: str
    name: str
    description: str
    proof: Proof | None
    thresholds: list[str]
    roles: list[str]
    exposure: str
    model_sees: bool
    raised: str | None
    higher: list[tuple[str, str]]
    runnable: bool


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """The tools whose policies stand in one place, or in one kind of place."""

    title: str
    rows: list[ToolRow]


class ToolPages(Controller):
    path = _PATH
    guards = (admin_only,)
    include_in_schema = False

    @get()
    async def all(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        tool_listing: NamedDependency[ToolListing],
        operating: NamedDependency[Operating],
    ) -> Page:
        return await _page(request, person, pages, tool_listing, operating=operating)

    @post("/raise", status_code=200)
    async def raise_tier(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        tool_listing: NamedDependency[ToolListing],
        operating: NamedDependency[Operating],
    ) -> Page:
        """Raises, never lowers; what cannot be done is told above the list as it is now."""
        form = parse_form(RaiseForm, await read_form(request))
        if form.tier not in TIERS:
            raise ValidationFailed("Choose a tier: confirm, review or never.")
        try:
            await tool_listing.raise_to(person.actor, form.name, TIERS[form.tier])
        except (Conflict, NotFound) as refusal:
            return await _page(request, person, pages, tool_listing, operating=operating, problem=refusal)
        if not wants_fragment(request):
            return see_other(f"{_PATH}?done=raised")
        return await _page(request, person, pages, tool_listing, operating=operating, headers=toast(_RAISED))

    @post("/run", status_code=200)
    async def run(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        tool_listing: NamedDependency[ToolListing],
        operating: NamedDependency[Operating],
    ) -> Page:
        """Runs an operator-gated tool; its answer, or why there is none, stands under the form (T-5)."""
        form = parse_form(RunForm, await read_form(request))
        problem: AppError | None = None
        try:
            answer = await operating.run(person.actor, form.name, _arguments(form.arguments))
            ran = Ran(form.name, form.arguments, answer=revealed(answer[:_ANSWER_SHOWN]))
        except (Conflict, Forbidden, NotFound, ValidationFailed) as refusal:
            problem, ran = refusal, Ran(form.name, form.arguments, problem=revealed(refusal.message))
        return await _page(request, person, pages, tool_listing, operating=operating, problem=problem, ran=ran)


PAGES: list[ControllerRouterHandler] = [ToolPages]


async def _page(
    request: AnyRequest,
    person: Person,
    pages: Pages,
    tool_listing: ToolListing,
    *,
    operating: Operating,
    problem: AppError | None = None,
    ran: Ran | None = None,
    headers: dict[str, str] | None = None,
) -> Page:
    """The list; `problem` stands above it, or in the row of the tool that `ran`."""
    listed, runnable = await tool_listing.all(person.actor), operating.runnable()
    in_row = ran is not None and ran.name in runnable
    done = request.query_params.get("done") == "raised"
    return await pages.page_or_fragment(
        request,
        "agents/tools.html",
        "agents/_tools.html",
        status=problem.status if problem else 200,
        headers=headers,
        nav="tools",
        groups=grouped_tools(listed, runnable),
        problem=problem.message if problem and not in_row else None,
        ran=ran if in_row else None,
        flash={"kind": "done", "message": _RAISED} if done else None,
    )


def grouped_tools(listed: Sequence[ListedTool], runnable: Collection[str]) -> list[ToolGroup]:
    """The desk's own, then each connection, then custom tools; inside a group as the gate knows them."""
    placed = [(_place(tool.policy.source), _row(number, tool, runnable)) for number, tool in enumerate(listed)]
    placed.sort(key=itemgetter(0))
    return [ToolGroup(title, [row for _, row in group]) for (_, title), group in groupby(placed, key=itemgetter(0))]


def _place(source: str) -> tuple[int, str]:
    """Where a group stands on the page, and its title."""
    folder, _, rest = source.partition("/")
    if source == "built in":
        return 0, "Of this desk"
    if folder == "connections":
        name = rest.partition("/")[0]
        return (2, f"Connection: {name}") if name else (1, "Connections")
    return 3, "Custom tools"


def _row(number: int, tool: ListedTool, runnable: Collection[str]) -> ToolRow:
    policy, decision = tool.policy, tool.decision
    return ToolRow(
        id=f"tool-{number}",
        name=policy.name,
        description=_first_lines(tool.description),
        proof=proof_of(decision.as_record()),
        thresholds=[f"{one.field} above {one.above:g} → {one.escalate.word}" for one in policy.thresholds],
        roles=[role for role in _ROLES if role in policy.roles],
        exposure=_EXPOSURES[policy.exposure],
        model_sees=policy.llm_callable and decision.blocked is None and decision.tier < Tier.NEVER,
        raised=tool.raised.word if tool.raised > Tier.AUTO else None,
        higher=[(tier.word, TIER_MEANINGS[tier.word]) for tier in tool.higher],
        runnable=policy.name in runnable,
    )


def _arguments(typed: str) -> dict[str, Any]:
    """Nothing typed is no arguments. Raises `ValidationFailed`."""
    if not typed.strip():
        return {}
    try:
        return parse_object(typed, max_bytes=_MOST_TYPED, max_depth=_MOST_DEPTH)
    except StrictJsonError as fault:
        raise ValidationFailed(f"The arguments are not one JSON object. {fault.reason}") from None


def _first_lines(description: str) -> str:
    """What a person needs of the text that the model gets: `request` lists every endpoint there."""
    head = description.split("\n", 1)[0]
    return head if len(head) <= _DESCRIPTION_SHOWN else head[:_DESCRIPTION_SHOWN].rsplit(" ", 1)[0] + " …"
