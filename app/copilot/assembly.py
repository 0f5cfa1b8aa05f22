"""The copilot, put together: called once, where the program is assembled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from app.accounts.assembly import AccountsFeature
from app.copilot.approvals import Approvals
from app.copilot.confirmation import ConfirmationTokens
from app.copilot.dispatch import Dispatcher
from app.copilot.endings import Endings
from app.copilot.engine import RunEngine
from app.copilot.events import EventLog
from app.copilot.execution import Execution
from app.copilot.hub import EventHub
from app.copilot.loop import RunLoop
from app.copilot.presence import Presence
from app.copilot.provider_step import ProviderStep
from app.copilot.repository import SessionRepository
from app.copilot.reviewing import Reviewing
from app.copilot.service import CopilotService
from app.copilot.staging import Staging
from app.copilot.sweeper import Sweeper
from app.copilot.watching import Watching
from app.copilot.wire_console import ConsoleWire
from app.copilot.wire_json import JsonWire
from app.core.clock import Clock
from app.core.mongo import Database
from app.core.redis import RedisClient
from app.core.settings import Settings
from app.governance.service import GovernanceService
from app.governance.spend import SpendLedger
from app.llm.port import ChatProvider, ChatRequest, Completion, Delta, Prices, ProviderUnavailable
from app.mail.port import Mailer
from app.runs.service import RunService
from app.tools.assembly import ToolsFeature
from app.work_orders.service import WorkOrderService


@dataclass(frozen=True, slots=True)
class CopilotFeature:
    """The services behind the copilot's doors."""

    copilot: CopilotService
    approvals: Approvals
    engine: RunEngine
    sweeper: Sweeper
    hub: EventHub
    watching: Watching
    json_wire: JsonWire
    console_wire: ConsoleWire
    reviewing: Reviewing


class NoProvider:
    """Stands where a provider would, on a desk without AI (D-22)."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta]:  # noqa: ARG002
        raise ProviderUnavailable("AI is off")
        yield  # pragma: no cover - makes this an async generator

    async def complete(self, request: ChatRequest) -> Completion:  # noqa: ARG002
        raise ProviderUnavailable("AI is off")


def open_copilot(
    settings: Settings,
    *,
    clock: Clock,
    database: Database,
    redis: RedisClient,
    prefix: str,
    provider: ChatProvider | None,
    runs: RunService,
    ledger: SpendLedger,
    accounts: AccountsFeature,
    orders: WorkOrderService,
    governance: GovernanceService,
    tools: ToolsFeature,
    mailer: Mailer,
) -> CopilotFeature:
    """Needs the documents bound. Enter `hub.running()` and `sweeper.running()` for the program's life."""
    people = accounts.accounts
    prices = Prices(settings.ai_price_per_1m_input, settings.ai_price_per_1m_output)
    events = EventLog(redis, prefix)
    registry, gatekeeper, reviews = tools.registry, tools.gatekeeper, tools.reviews
    tokens = ConfirmationTokens(settings.cookie_secret.get_secret_value())
    staging = Staging(runs, events, tokens, clock, ttl_ms=settings.ai_approval_ttl_ms)
    execution = Execution(runs, registry, gatekeeper, staging, accounts=people, events=events)
    endings = Endings(runs, events, clock)
    loop = RunLoop(
        runs,
        ProviderStep(provider or NoProvider(), ledger, prices, events),
        Dispatcher(runs, registry, gatekeeper, staging, reviews=reviews, events=events, clock=clock),
        execution,
        gatekeeper=gatekeeper,
        orders=orders,
        clock=clock,
        settings=settings,
    )
    hub = EventHub(redis, prefix)
    presence = Presence(redis, prefix, kept_ms=3 * settings.ai_sse_keepalive_ms)
    engine = RunEngine(
        runs,
        loop,
        execution,
        endings,
        accounts=people,
        presence=presence,
        hub=hub,
        clock=clock,
        settings=settings,
    )
    reviewing = Reviewing(
        reviews,
        runs,
        execution,
        accounts=people,
        mailer=mailer,
        clock=clock,
        public_url=settings.public_url,
    )
    sweeper = Sweeper(
        engine,
        runs,
        execution,
        endings,
        reviewing=reviewing,
        ledger=ledger,
        every_ms=settings.agent_sweep_interval_ms,
    )
    approvals = Approvals(
        runs,
        engine,
        execution,
        endings,
        events=events,
        tokens=tokens,
        orders=orders,
        clock=clock,
        ttl_ms=settings.ai_approval_ttl_ms,
    )
    watching = Watching(runs, hub, presence, settings.ai_sse_keepalive_ms)
    return CopilotFeature(
        copilot=CopilotService(
            SessionRepository(database),
            runs,
            engine,
            clock,
            events=events,
            model=settings.ai_model,
            enabled=settings.ai_enabled,
            switched_on=governance.copilot_enabled,
        ),
        approvals=approvals,
        engine=engine,
        sweeper=sweeper,
        hub=hub,
        watching=watching,
        json_wire=JsonWire(watching, runs, approvals, clock),
        console_wire=ConsoleWire(watching, runs, approvals, clock),
        reviewing=reviewing,
    )
