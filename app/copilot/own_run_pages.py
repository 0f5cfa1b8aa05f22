"""One's own runs in HTML: what the copilot did, said and cost (COP-10)."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Controller, Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, HeaderParameter
from litestar.types import ControllerRouterHandler

from app.accounts.guards import signed_in
from app.accounts.people import Person
from app.copilot.conversation import Conversation, Conversations, title_of
from app.copilot.wire_html import RunState
from app.core.ids import parse_id
from app.runs.service import RunService
from app.web.pages import Pages

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", max_length=40)]
IdempotencyKey = Annotated[str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=200)]

_IDLE = Conversation([], RunState("", "idle"))
_COPILOT, _APPROVALS = "/app/copilot", "/app/approvals"


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


PAGES: list[ControllerRouterHandler] = [RunPages]


def _page_number(request: AnyRequest) -> int:
    text = request.query_params.get("page", "1")
    return min(max(int(text), 1), 10_000) if text.isascii() and text.isdigit() and len(text) < 6 else 1
