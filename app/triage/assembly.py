"""Triage, put together: called once, where the program is assembled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from app.accounts.service import AccountsService
from app.core.clock import Clock
from app.core.events import Announcements
from app.core.mongo import Database
from app.core.settings import Settings
from app.governance.audit import AuditLog
from app.governance.gate import TriageGate
from app.governance.service import GovernanceService
from app.governance.spend import SpendLedger
from app.llm.port import ChatProvider, Prices
from app.outbox.service import OutboxService
from app.runs.service import RunService
from app.tools.gatekeeper import Gatekeeper
from app.triage.admin_runs import AdminRuns
from app.triage.asking import Asking
from app.triage.attention import AttentionList
from app.triage.oversight import Oversight, Wake
from app.triage.overview import AgentsOverview
from app.triage.passes import TriagePass
from app.triage.past import PastSuggestions
from app.triage.replay import PolicyReplay
from app.triage.repository import SuggestionRepository
from app.triage.service import TriageService
from app.triage.statistics import TriageStatistics
from app.triage.suggestions import SuggestionService
from app.work_orders.service import WorkOrderService


@dataclass(frozen=True, slots=True)
class TriageFeature:
    """The services behind triage's doors."""

    triage: TriageService
    suggestions: SuggestionService
    oversight: Oversight
    overview: AgentsOverview
    attention: AttentionList
    replay: PolicyReplay
    admin_runs: AdminRuns


def open_triage(
    settings: Settings,
    *,
    clock: Clock,
    database: Database,
    provider: ChatProvider | None,
    runs: RunService,
    ledger: SpendLedger,
    audit: AuditLog,
    governance: GovernanceService,
    accounts: AccountsService,
    orders: WorkOrderService,
    outbox: OutboxService,
    announcements: Announcements,
    gatekeeper: Gatekeeper,
    wake: Wake,
) -> TriageFeature:
    """Needs the documents bound. Without a provider nothing is claimed (D-22)."""
    rows = SuggestionRepository(database)
    gate = TriageGate(governance, ledger, clock)
    passes = None
    if provider is not None:
        prices = Prices(settings.ai_price_per_1m_input, settings.ai_price_per_1m_output)
        asking = Asking(
            provider, runs, ledger, prices, clock, model=settings.ai_model, max_tokens=settings.ai_max_output_tokens
        )
        passes = TriagePass(
            suggestions=rows,
            outbox=outbox,
            orders=orders,
            accounts=accounts,
            governance=governance,
            gate=gate,
            runs=runs,
            asking=asking,
            gatekeeper=gatekeeper,
            clock=clock,
        )
    past = PastSuggestions(rows, orders)
    oversight = Oversight(governance, gate, outbox, wake=wake, announcements=announcements)
    statistics = TriageStatistics(runs, ledger, past, clock)
    return TriageFeature(
        triage=TriageService(
            passes=passes,
            suggestions=rows,
            outbox=outbox,
            orders=orders,
            accounts=accounts,
            gate=gate,
            runs=runs,
            lease=timedelta(milliseconds=settings.agent_lease_ms),
            concurrency=settings.agent_concurrency,
        ),
        suggestions=SuggestionService(rows, orders, accounts, outbox, clock, enabled=settings.ai_enabled),
        oversight=oversight,
        overview=AgentsOverview(
            governance, oversight, ledger, statistics, audit=audit, accounts=accounts, orders=orders
        ),
        attention=AttentionList(rows, orders, clock),
        replay=PolicyReplay(governance, past, clock),
        admin_runs=AdminRuns(runs, audit, accounts, orders, rows),
    )
