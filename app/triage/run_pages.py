"""Everyone's runs and the attention list, for dispatchers (HTTP-5, AGT-6, AGT-8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from bson import ObjectId
from litestar import Controller, Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.core.ids import is_id, parse_id
from app.runs.schemas import RunMode, RunStatus
from app.triage.admin_runs import AdminRuns, RunFilter
from app.triage.attention import AttentionList
from app.triage.run_entries import entries
from app.web.pages import Pages

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

_LIMIT = 20
_ATTENTION_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Filters:
    """The list's filters as in its address. What cannot be understood there is left out."""

    mode: RunMode | None
    status: RunStatus | None
    user: str | None
    page: int

    @classmethod
    def read(cls, query: dict[str, str]) -> Filters:
        mode: Any = query.get("mode")
        status: Any = query.get("status")
        user, number = query.get("user", ""), query.get("page", "")
        return cls(
            mode=mode if mode in get_args(RunMode) else None,
            status=status if status in get_args(RunStatus) else None,
            user=user if is_id(user) else None,
            page=max(1, int(number)) if number.isascii() and number.isdigit() and len(number) < 6 else 1,
        )

    @property
    def wanted(self) -> RunFilter:
        return RunFilter(self.mode, self.status, ObjectId(self.user) if self.user else None)


class AdminRunPages(Controller):
    path = "/app/admin/agents/runs"
    guards = (admin_only,)
    include_in_schema = False

    @get()
    async def everyones(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        admin_runs: NamedDependency[AdminRuns],
    ) -> Page:
        filters = Filters.read(dict(request.query_params))
        rows, total = await admin_runs.rows(person.actor, filters.wanted, filters.page, _LIMIT)
        whose = await admin_runs.filter_name(ObjectId(filters.user)) if filters.user else None
        listed = {"items": rows, "page": filters.page, "limit": _LIMIT, "total": total}
        return await pages.page_or_fragment(
            request,
            "agents/runs.html",
            "agents/_runs.html",
            nav="agent_runs",
            runs=listed,
            filters=filters,
            whose=whose,
            modes=get_args(RunMode),
            statuses=get_args(RunStatus),
        )

    @get("/{run_id:str}")
    async def one(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        admin_runs: NamedDependency[AdminRuns],
        run_id: FromPath[str],
    ) -> Page:
        """The transcript; looking at it is on record before it is shown."""
        viewed = await admin_runs.view(person.actor, parse_id(run_id))
        shown = entries(viewed.detail, viewed.names)
        return await pages.page(request, "agents/run.html", nav="agent_runs", viewed=viewed, entries=shown)


class AttentionPage(Controller):
    path = "/app/admin/attention"
    guards = (admin_only,)
    include_in_schema = False

    @get()
    async def attention_list(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        attention: NamedDependency[AttentionList],
    ) -> Page:
        """The list; `top` shows that many and a link to all."""
        items, top = await attention.items(person.actor, _ATTENTION_SHOWN), request.query_params.get("top", "")
        return await pages.page_or_fragment(
            request, "triage/attention.html", "triage/_attention.html", nav="attention", items=items, top=_few(top)
        )


def _few(text: str) -> int:
    """How many a page wants to show at first; 0 means all."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 3 else 0


PAGES = [AdminRunPages, AttentionPage]
