"""What the page of the triage policy shows: switch, queue, spend, the last month, failures, audit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from bson import ObjectId

from app.accounts.actors import Actor
from app.accounts.service import AccountsService
from app.core.ids import is_id
from app.governance.access import require_admin
from app.governance.audit import AuditLog
from app.governance.models import AgentConfig
from app.governance.schemas import WAIT_WORDS
from app.governance.service import TRIAGE, GovernanceService
from app.governance.spend import SpendLedger
from app.outbox.schemas import RETRY
from app.triage.audit_lines import AuditLine, audit_line
from app.triage.charts import Chart, bar_chart
from app.triage.oversight import Oversight
from app.triage.schemas import OutboxEventPublic, OutboxPage
from app.triage.statistics import MonthOfTriage, TriageStatistics
from app.web.templates import usd
from app.work_orders.service import WorkOrderService

_FAILED_SHOWN = 20
_AUDIT_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Switch:
    """One of the two kill switches (D-18). `since` and `by` are None when it was never touched."""

    scope: str
    name: str
    on: bool
    since: datetime | None
    by: str | None


@dataclass(frozen=True, slots=True)
class Gauge:
    """Something that is used up in the course of a UTC day."""

    name: str
    used: float
    cap: float
    words: str

    @property
    def share(self) -> float:
        return min(1.0, self.used / self.cap) if self.cap else 1.0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that failed for good."""

    id: str
    title: str
    order_id: str | None
    reason: str
    attempts: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Overview:
    """What the page shows, beside its forms."""

    policy: AgentConfig
    switches: list[Switch]
    queue: OutboxPage
    closed: str | None
    waiting: list[tuple[str, int]]
    gauges: list[Gauge]
    month: MonthOfTriage
    runs_chart: Chart
    cost_chart: Chart
    dead_letters: list[DeadLetter]
    audit: list[AuditLine]


class AgentsOverview:
    """See the module."""

    def __init__(
        self,
        governance: GovernanceService,
        oversight: Oversight,
        ledger: SpendLedger,
        statistics: TriageStatistics,
        *,
        audit: AuditLog,
        accounts: AccountsService,
        orders: WorkOrderService,
    ) -> None:
        self._governance = governance
        self._oversight = oversight
        self._ledger = ledger
        self._statistics = statistics
        self._audit = audit
        self._accounts = accounts
        self._orders = orders

    async def now(self, actor: Actor) -> Overview:
        """Raises `Forbidden` for anyone but a dispatcher."""
        require_admin(actor)
        policy = await self._governance.triage_policy()
        queue = await self._oversight.outbox("failed", 1, _FAILED_SHOWN)
        rows = (await self._audit.page(actor, 1, _AUDIT_SHOWN)).items
        names = await self._names([policy.switched_by, policy.copilot_switched_by, *(row.actor_id for row in rows)])
        month = await self._statistics.month()
        return Overview(
            policy=policy,
            switches=_switches(policy, names),
            queue=queue,
            closed=WAIT_WORDS[queue.closed] if queue.closed else None,
            waiting=_waiting(queue),
            gauges=await self._gauges(policy),
            month=month,
            runs_chart=_runs_chart(month),
            cost_chart=_cost_chart(month),
            dead_letters=await self._dead_letters(queue.items),
            audit=[audit_line(row, names) for row in rows],
        )

    async def _gauges(self, policy: AgentConfig) -> list[Gauge]:
        day, caps = await self._ledger.today(), self._ledger.caps
        triage, calls = day.agents.get(TRIAGE, 0.0), day.actions.get(TRIAGE, 0)
        return [
            Gauge("Triage", triage, caps.per_agent, f"{usd(triage)} of {usd(caps.per_agent)}"),
            Gauge("The whole desk", day.spent_usd, caps.overall, f"{usd(day.spent_usd)} of {usd(caps.overall)}"),
            Gauge("Calls of triage", calls, policy.daily_action_cap, f"{calls} of {policy.daily_action_cap}"),
        ]

    async def _dead_letters(self, events: list[OutboxEventPublic]) -> list[DeadLetter]:
        ids = [ObjectId(event.payload_ref) for event in events if is_id(event.payload_ref)]
        titles = {str(order_id): found.order.title for order_id, found in (await self._orders.standing(ids)).items()}
        return [_dead_letter(event, titles) for event in events]

    async def _names(self, ids: list[str | None]) -> dict[str, str]:
        refs = await self._accounts.refs({ObjectId(one) for one in ids if is_id(one)})
        return {str(user_id): ref.name for user_id, ref in refs.items()}


def _switches(policy: AgentConfig, names: dict[str, str]) -> list[Switch]:
    copilot_by = policy.copilot_switched_by
    return [
        Switch("triage", "Triage", policy.enabled, policy.switched_at, names.get(policy.switched_by or "")),
        Switch("all", "Copilot", policy.copilot_enabled, policy.copilot_switched_at, names.get(copilot_by or "")),
    ]


def _waiting(queue: OutboxPage) -> list[tuple[str, int]]:
    """What waits, by reason in words; what is simply due comes first."""
    words = WAIT_WORDS | {RETRY: "The last attempt did not work; tried again soon."}
    due = queue.pending - sum(queue.waiting.values())
    reasons = [(words.get(reason, reason), number) for reason, number in sorted(queue.waiting.items())]
    return [("Due now.", due), *reasons] if due else reasons


def _runs_chart(month: MonthOfTriage) -> Chart:
    labels = [f"{_date(day.day)}: {day.runs} runs, {day.failed} did not work" for day in month.days]
    most = max(day.runs for day in month.days)
    return bar_chart([day.runs for day in month.days], labels, str(most), [day.failed for day in month.days])


def _cost_chart(month: MonthOfTriage) -> Chart:
    costs = [day.cost_usd for day in month.days]
    return bar_chart(costs, [f"{_date(day.day)}: {usd(day.cost_usd)}" for day in month.days], usd(max(costs)))


def _date(day: str) -> str:
    moment = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    return f"{moment.day} {moment:%b}"


def _dead_letter(event: OutboxEventPublic, titles: dict[str, str]) -> DeadLetter:
    return DeadLetter(
        id=event.id,
        title=titles.get(event.payload_ref, "A work order that is gone"),
        order_id=event.payload_ref if event.payload_ref in titles else None,
        reason=event.last_error or "No reason was kept.",
        attempts=event.attempts,
        at=event.created_at,
    )
