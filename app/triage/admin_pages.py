"""The dispatcher's page of the agents: policy, kill switch, dead letters (HTTP-5, AGT-8, AGT-9)."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.accounts.forms import Form, read_form, refused, refused_status
from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.core.clock import Clock
from app.core.errors import AppError, Conflict, ValidationFailed
from app.core.settings import Settings
from app.governance.schemas import SwitchChange
from app.triage import policy_form
from app.triage.oversight import Oversight
from app.triage.overview import AgentsOverview
from app.triage.replay import PolicyReplay
from app.triage.schemas import ReplayReport
from app.web.hx import wants_fragment
from app.web.pages import Pages, see_other
from app.web.validation import parse

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

_PATH = "/app/admin/agents"
_DONE = {
    "saved": "The policy is saved.",
    "off": "Triage is switched off.",
    "all-off": "Everything is switched off: triage and the copilot.",
    "on": "Triage is switched on.",
    "all-on": "Everything is switched on.",
    "retried": "It is tried again.",
}
_MEANWHILE = "The policy was changed meanwhile. Look at it as it is below the form, then save again."


class AgentsPages(Controller):
    path = _PATH
    guards = (admin_only,)
    include_in_schema = False

    @get()
    async def overview(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        agents_overview: NamedDependency[AgentsOverview],
        settings: NamedDependency[Settings],
        clock: NamedDependency[Clock],
    ) -> Page:
        return await _page(request, person, pages, agents_overview, settings=settings, clock=clock)

    @get("/live")
    async def live(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        agents_overview: NamedDependency[AgentsOverview],
    ) -> Page:
        """The part of the page that renews itself."""
        if not wants_fragment(request):
            return see_other(_PATH)
        return await pages.fragment(request, "agents/_live.html", overview=await agents_overview.now(person.actor))

    @post("/policy", status_code=200)
    async def save(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        agents_overview: NamedDependency[AgentsOverview],
        oversight: NamedDependency[Oversight],
        settings: NamedDependency[Settings],
        clock: NamedDependency[Clock],
    ) -> Page:
        values = await read_form(request)
        try:
            wanted = policy_form.change(values)
            if values.get("revision") != str((await oversight.policy()).revision):
                raise Conflict(_MEANWHILE)
            await oversight.change_policy(person.actor, wanted)
        except (ValidationFailed, Conflict) as error:
            form = refused(values, error)
            return await _page(
                request, person, pages, agents_overview, settings=settings, clock=clock, form=form, error=error
            )
        return see_other(f"{_PATH}?done=saved")

    @post("/replay", status_code=200)
    async def try_out(
        self,
        *,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        agents_overview: NamedDependency[AgentsOverview],
        replay: NamedDependency[PolicyReplay],
        settings: NamedDependency[Settings],
        clock: NamedDependency[Clock],
    ) -> Page:
        """What the typed policy would have done, before it is saved; nothing is."""
        values = await read_form(request)
        try:
            wanted = policy_form.change(values)
        except ValidationFailed as error:
            form = refused(values, error)
            if wants_fragment(request):
                return await pages.fragment(request, "agents/_replay.html", form=form, replay=None, week=[])
            return await _page(
                request, person, pages, agents_overview, settings=settings, clock=clock, form=form, error=error
            )
        report, form = await replay.of(person.actor, wanted), Form(values)
        if wants_fragment(request):
            week = policy_form.next_days(wanted.working_hours or "*", clock.now())
            return await pages.fragment(request, "agents/_replay.html", form=form, replay=report, week=week)
        return await _page(
            request, person, pages, agents_overview, settings=settings, clock=clock, form=form, report=report
        )

    @post("/switch", status_code=200)
    async def switch(
        self, request: AnyRequest, person: NamedDependency[Person], oversight: NamedDependency[Oversight]
    ) -> Page:
        values = await read_form(request)
        scope = parse(SwitchChange, {"scope": values.get("scope", "triage")}).scope
        if values.get("on") not in ("true", "false"):
            raise ValidationFailed("Say on or off.")
        on = values["on"] == "true"
        await oversight.switch(person.actor, scope, on=on)
        return see_other(f"{_PATH}?done={'all-' if scope == 'all' else ''}{'on' if on else 'off'}")

    @post("/outbox/{event_id:str}/retry", status_code=200)
    async def retry(self, oversight: NamedDependency[Oversight], event_id: FromPath[str]) -> Page:
        await oversight.retry(event_id)
        return see_other(f"{_PATH}?done=retried")


async def _page(
    request: AnyRequest,
    person: Person,
    pages: Pages,
    agents_overview: AgentsOverview,
    *,
    settings: Settings,
    clock: Clock,
    form: Form | None = None,
    report: ReplayReport | None = None,
    error: AppError | None = None,
) -> Page:
    """The whole page; `form` keeps what was typed, `error` is why it was not saved."""
    overview = await agents_overview.now(person.actor)
    form = form or policy_form.filled(overview.policy)
    message = _DONE.get(request.query_params.get("done", ""))
    return await pages.page(
        request,
        "agents/overview.html",
        status=refused_status(error) if error else 200,
        nav="agents",
        overview=overview,
        form=form,
        replay=report,
        week=policy_form.next_days(_readable_hours(form, overview.policy.working_hours), clock.now()),
        ai_configured=settings.ai_enabled,
        flash={"kind": "done", "message": message} if message else None,
    )


def _readable_hours(form: Form, present: str) -> str:
    """The typed working hours, if they can be read."""
    return present if form.errors else form.values.get("working_hours", present)


PAGES = [AgentsPages]
