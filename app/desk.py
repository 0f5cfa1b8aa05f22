"""The assembled desk: adapters chosen, services joined, once per process (web, worker, seed)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.accounts.assembly import AccountsFeature, open_accounts
from app.accounts.events import SessionsEnded
from app.copilot.assembly import CopilotFeature, open_copilot
from app.core.clock import Clock, SystemClock
from app.core.cursors import Cursors
from app.core.events import Announcements
from app.core.mongo import Database, bind_documents, open_mongo
from app.core.queue import Nudge
from app.core.redis import RedisClient, open_redis
from app.core.settings import Settings
from app.documents import DOCUMENTS
from app.governance.assembly import open_audit
from app.governance.audit import AuditLog
from app.governance.events import CopilotSwitchedOff
from app.governance.recent import RecentSwitch
from app.governance.repository import GovernanceRepository
from app.governance.service import GovernanceService
from app.governance.spend import Caps, SpendLedger
from app.llm.openai_compat import OpenAICompatProvider
from app.llm.port import ChatProvider
from app.mail.log import LogMailer
from app.mail.port import Mailer
from app.mail.smtp import SmtpAddress, SmtpMailer
from app.outbox.figures import OutboxCounter
from app.outbox.repository import OutboxRepository
from app.outbox.service import OutboxService
from app.runs.call_repository import CallRepository
from app.runs.figures import RunCounter
from app.runs.repository import RunRepository
from app.runs.retention import Retention, drop_older_ttl
from app.runs.service import RunService
from app.site.prometheus import PrometheusMetrics
from app.site.service import MetricsService, SiteService
from app.tools.assembly import ToolsFeature, open_tools
from app.tools.connections.http_sender import HttpSender
from app.tools.custom.loading import CustomModules, describe_modules
from app.triage.assembly import TriageFeature, open_triage
from app.web.limits import RateLimiter
from app.work_orders.assembly import open_work_orders
from app.work_orders.schemas import OrderCreated
from app.work_orders.service import WorkOrderService


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything a process of the desk works with."""

    settings: Settings
    clock: Clock
    database: Database
    redis: RedisClient
    announcements: Announcements
    limiter: RateLimiter
    outbox: OutboxService
    accounts: AccountsFeature
    orders: WorkOrderService
    audit: AuditLog
    governance: GovernanceService
    recent_switch: RecentSwitch
    ledger: SpendLedger
    runs: RunService
    tools: ToolsFeature
    retention: Retention
    provider: ChatProvider | None
    copilot: CopilotFeature
    triage: TriageFeature
    site: SiteService
    metrics: MetricsService
    prometheus: PrometheusMetrics


@asynccontextmanager
async def open_desk(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Desk]:
    """Connects, binds, joins; closes in the opposite order.

    Raises `ValueError` for a provider address that D-19 refuses, `SettingsError` for tools that cannot be used.
    """
    async with AsyncExitStack() as stack:
        clock = clock or SystemClock()
        database = await stack.enter_async_context(open_mongo(settings.mongodb_uri, settings.mongodb_db))
        redis = await stack.enter_async_context(open_redis(settings.redis_url))
        provider = await _provider(settings, stack)
        await drop_older_ttl(database)
        await bind_documents(database, DOCUMENTS)
        nudge = Nudge(settings.redis_url, prefix_of(settings))
        stack.push_async_callback(nudge.aclose)
        custom = await describe_modules(settings.custom_tools_dir, lenient=not settings.is_production)
        desk = _join(settings, clock, database, redis, provider, nudge=nudge, custom=custom)
        stack.push_async_callback(desk.limiter.close)
        stack.push_async_callback(desk.accounts.sign_in.settled)
        stack.push_async_callback(desk.copilot.reviewing.close)
        await desk.orders.backfill()
        yield desk


def prefix_of(settings: Settings) -> str:
    """What this desk's keys in Redis begin with."""
    return f"desk:{settings.mongodb_db}"


def _join(
    settings: Settings,
    clock: Clock,
    database: Database,
    redis: RedisClient,
    provider: ChatProvider | None,
    *,
    nudge: Nudge,
    custom: CustomModules,
) -> Desk:
    announcements = Announcements()
    prefix = prefix_of(settings)
    mailer = _mailer(settings)
    accounts = open_accounts(settings, clock, announcements, mailer)
    outbox = OutboxService(OutboxRepository(database), clock, max_attempts=settings.agent_max_attempts)
    orders = open_work_orders(
        database,
        outbox=outbox,
        accounts=accounts.accounts,
        announcements=announcements,
        cursors=Cursors(settings.cookie_secret.get_secret_value()),
        clock=clock,
    )
    governance_rows = GovernanceRepository(database)
    caps = Caps(settings.ai_daily_spend_usd, settings.agent_daily_spend_usd, settings.ai_global_daily_spend_usd)
    ledger = SpendLedger(governance_rows, clock, caps)
    audit = open_audit(settings, database, clock)
    governance = GovernanceService(governance_rows, audit, clock, settings)
    runs = RunService(RunRepository(database), CallRepository(database), clock, settings.agent_lease_ms)
    limiter = RateLimiter(settings.redis_url, prefix)
    tools = open_tools(
        settings,
        database=database,
        clock=clock,
        accounts=accounts,
        orders=orders,
        governance=governance,
        audit=audit,
        limiter=limiter,
        sender=HttpSender(allow_local=settings.local_provider_allowed),
        custom=custom,
    )
    copilot = open_copilot(
        settings,
        clock=clock,
        database=database,
        redis=redis,
        prefix=prefix,
        provider=provider,
        runs=runs,
        ledger=ledger,
        accounts=accounts,
        orders=orders,
        governance=governance,
        tools=tools,
        mailer=mailer,
    )
    triage = open_triage(
        settings,
        clock=clock,
        database=database,
        provider=provider,
        runs=runs,
        ledger=ledger,
        audit=audit,
        governance=governance,
        accounts=accounts.accounts,
        orders=orders,
        outbox=outbox,
        announcements=announcements,
        gatekeeper=tools.gatekeeper,
        wake=nudge.send,
    )
    _tell_higher_features(announcements, copilot, nudge if triage.triage.enabled else None)
    return Desk(
        settings=settings,
        clock=clock,
        database=database,
        redis=redis,
        announcements=announcements,
        limiter=limiter,
        outbox=outbox,
        accounts=accounts,
        orders=orders,
        audit=audit,
        governance=governance,
        recent_switch=RecentSwitch(governance.copilot_enabled),
        ledger=ledger,
        runs=runs,
        tools=tools,
        retention=Retention(database, clock),
        provider=provider,
        copilot=copilot,
        triage=triage,
        site=SiteService(database, redis),
        metrics=MetricsService(accounts.accounts, orders),
        prometheus=PrometheusMetrics(
            RunCounter(database), OutboxCounter(database), ledger, clock, tools.registry.names()
        ),
    )


def _tell_higher_features(announcements: Announcements, copilot: CopilotFeature, nudge: Nudge | None) -> None:
    """The table of what lower features tell higher ones."""

    async def stop_runs(ended: SessionsEnded) -> None:
        await copilot.engine.stop_all_of(ended.user_id, ended.reason)

    async def wake_workers(_created: OrderCreated) -> None:
        if nudge is not None:
            await nudge.send()

    async def stop_every_run(_off: CopilotSwitchedOff) -> None:
        await copilot.engine.stop_all("switched off")

    announcements.on(SessionsEnded, stop_runs)
    announcements.on(CopilotSwitchedOff, stop_every_run)
    announcements.on(OrderCreated, wake_workers)


async def _provider(settings: Settings, stack: AsyncExitStack) -> ChatProvider | None:
    return await stack.enter_async_context(provider_of(settings)) if settings.ai_enabled else None


def provider_of(settings: Settings) -> OpenAICompatProvider:
    """The configured endpoint. Raises `ValueError` with one plain line for an address that D-19 refuses."""
    return OpenAICompatProvider(
        settings.ai_base_url,
        settings.ai_api_key.get_secret_value(),
        settings.ai_model,
        allow_local=settings.local_provider_allowed,
        structured_output=settings.ai_structured_output,
    )


def _mailer(settings: Settings) -> Mailer:
    if url := settings.smtp_url.get_secret_value():
        return SmtpMailer(SmtpAddress.parse(url, _sender(settings)))
    return LogMailer(show_links=settings.app_env == "development")


def _sender(settings: Settings) -> str:
    host = urlsplit(settings.public_url).hostname or "localhost"
    return f"Work Order Desk <no-reply@{host}>"
