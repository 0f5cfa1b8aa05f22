"""The JSON doors for dispatchers beyond the policy itself: everyone's runs, attention list, replay (AGT-6, AGT-8)."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.core.ids import parse_id
from app.core.schemas import OffsetPage
from app.governance.schemas import PolicyChange
from app.runs.schemas import AgentRunPublic, RunDetail, RunMode, RunStatus
from app.triage.admin_runs import AdminRuns, RunFilter
from app.triage.attention import AttentionList
from app.triage.replay import PolicyReplay
from app.triage.schemas import AttentionItemPublic, ReplayReport
from app.web.envelope import Success

PageNumber = Annotated[int, QueryParameter(ge=1, le=100_000)]
PageSize = Annotated[int, QueryParameter(ge=1, le=100)]


class AdminRunsController(Controller):
    path = "/api/v1/admin/agents/runs"
    tags = ("Administration",)
    guards = (admin_only,)

    @get(summary="Everyone's runs, newest first")
    async def runs(
        self,
        *,
        person: NamedDependency[Person],
        admin_runs: NamedDependency[AdminRuns],
        mode: FromQuery[RunMode | None] = None,
        status: FromQuery[RunStatus | None] = None,
        user: FromQuery[str | None] = None,
        page: PageNumber = 1,
        limit: PageSize = 20,
    ) -> Success[OffsetPage[AgentRunPublic]]:
        wanted = RunFilter(mode, status, parse_id(user, "user") if user else None)
        return Success(data=await admin_runs.page(person.actor, wanted, page, limit))

    @get("/{run_id:str}", summary="One run with its transcript; the view is audited")
    async def run(
        self, person: NamedDependency[Person], admin_runs: NamedDependency[AdminRuns], run_id: FromPath[str]
    ) -> Success[RunDetail]:
        return Success(data=await admin_runs.detail(person.actor, parse_id(run_id)))


class ReplayController(Controller):
    path = "/api/v1/admin/agents/triage/replay"
    tags = ("Administration",)
    guards = (admin_only,)

    @post(status_code=200, summary="What a changed policy would have done over the last 30 days; nothing is saved")
    async def replay(
        self, person: NamedDependency[Person], replay: NamedDependency[PolicyReplay], data: JSONBody[PolicyChange]
    ) -> Success[ReplayReport]:
        return Success(data=await replay.of(person.actor, data))


class AttentionController(Controller):
    path = "/api/v1/admin/attention"
    tags = ("Administration",)
    guards = (admin_only,)

    @get(summary="Flagged work orders that nobody acted on yet, newest first")
    async def attention_list(
        self,
        person: NamedDependency[Person],
        attention: NamedDependency[AttentionList],
        page: PageNumber = 1,
        limit: PageSize = 20,
    ) -> Success[OffsetPage[AttentionItemPublic]]:
        return Success(data=await attention.page(person.actor, page, limit))


API = [AdminRunsController, ReplayController, AttentionController]
