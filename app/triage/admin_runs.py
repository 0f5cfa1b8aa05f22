"""Everyone's runs, for dispatchers: the list names no one's words, and each transcript that is opened is audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from app.accounts.actors import Actor
from app.accounts.service import AccountsService
from app.core.schemas import OffsetPage
from app.governance.access import require_admin
from app.governance.audit import AuditLog
from app.runs import present
from app.runs.models import AgentRun
from app.runs.schemas import AgentRunPublic, RunDetail, RunMode, RunStatus
from app.runs.service import RunService
from app.triage.repository import SuggestionRepository
from app.work_orders.schemas import Priority
from app.work_orders.service import WorkOrderService

FORMER = "A former member"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs; None means all."""

    mode: RunMode | None = None
    status: RunStatus | None = None
    user_id: ObjectId | None = None

    def query(self) -> dict[str, Any]:
        given = {"mode": self.mode, "status": self.status, "userId": self.user_id}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the list. `title` is the order that triage looked at, or whose conversation turn it is."""

    id: str
    title: str
    mode: RunMode
    status: RunStatus
    model: str
    user_id: str | None
    priority: Priority | None
    cost_usd: float
    tokens: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class ViewedRun:
    """A run whose transcript is shown; `audit_seq` numbers the row that says so."""

    row: RunRow
    detail: RunDetail
    order_id: str | None
    names: dict[str, str]
    audit_seq: int


class AdminRuns:
    """See the module. Every method raises `Forbidden` for anyone but a dispatcher."""

    def __init__(
        self,
        runs: RunService,
        audit: AuditLog,
        accounts: AccountsService,
        orders: WorkOrderService,
        suggestions: SuggestionRepository,
    ) -> None:
        self._runs = runs
        self._audit = audit
        self._accounts = accounts
        self._orders = orders
        self._suggestions = suggestions

    async def page(self, actor: Actor, wanted: RunFilter, page: int, limit: int) -> OffsetPage[AgentRunPublic]:
        """Newest first (AGT-8)."""
        require_admin(actor)
        return await self._runs.page(wanted.query(), page, limit)

    async def rows(self, actor: Actor, wanted: RunFilter, page: int, limit: int) -> tuple[list[RunRow], int]:
        """The same with titles and suggested priorities, and how many there are; one query for each."""
        require_admin(actor)
        runs, total = await self._runs.records(wanted.query(), page, limit)
        return await self._named(runs), total

    async def detail(self, actor: Actor, run_id: ObjectId) -> RunDetail:
        """The run with its transcript, once the view is on record (D-20). Raises `NotFound`."""
        require_admin(actor)
        run = await self._runs.get(run_id)
        await self._audit.transcript_viewed(actor, run.agent_name or run.mode, str(run.id))
        return await self._runs.detail(run)

    async def view(self, actor: Actor, run_id: ObjectId) -> ViewedRun:
        """As `detail`, with the names that its page shows."""
        require_admin(actor)
        run = await self._runs.get(run_id)
        seq = await self._audit.transcript_viewed(actor, run.agent_name or run.mode, str(run.id))
        detail = await self._runs.detail(run)
        (row,) = await self._named([run])
        deciders = [call.approval.decided_by for call in detail.tool_calls if call.approval]
        names = await self._names([run.user_id, *(ObjectId(by) for by in deciders if by and ObjectId.is_valid(by))])
        order = str(run.work_order_id) if run.work_order_id else None
        return ViewedRun(row, detail, order, names, seq)

    async def filter_name(self, user_id: ObjectId) -> str:
        """The name of the person whose runs are listed."""
        return (await self._names([user_id])).get(str(user_id), FORMER)

    async def _named(self, runs: Sequence[AgentRun]) -> list[RunRow]:
        people = await self._names([run.user_id for run in runs])
        orders = await self._orders.standing([run.work_order_id for run in runs if run.work_order_id])
        titles = {order_id: found.order.title for order_id, found in orders.items()}
        suggested = await self._suggestions.of_runs([run.id for run in runs])
        priorities = {one.run_id: one.suggested_priority for one in suggested}
        return [_row(run, _title(run, titles, people), priorities.get(run.id)) for run in runs]

    async def _names(self, ids: Sequence[ObjectId | None]) -> dict[str, str]:
        refs = await self._accounts.refs({one for one in ids if one})
        return {str(user_id): ref.name for user_id, ref in refs.items()}


def _title(run: AgentRun, titles: dict[ObjectId, str], people: dict[str, str]) -> str:
    if run.mode == "autonomous":
        return titles.get(run.work_order_id, "A work order") if run.work_order_id else "A work order"
    return f"Conversation of {people.get(str(run.user_id), FORMER)}"


def _row(run: AgentRun, title: str, priority: Priority | None) -> RunRow:
    shown = present.run(run)
    return RunRow(
        id=shown.id,
        title=title,
        mode=shown.mode,
        status=shown.status,
        model=shown.model,
        user_id=shown.actor_id,
        priority=priority,
        cost_usd=run.spent_usd,
        tokens=run.input_tokens + run.output_tokens,
        started_at=shown.started_at,
    )
