"""The tools, put together: the desk's own, connections and custom ones behind one gate (section 6)."""

from __future__ import annotations

from dataclasses import dataclass

from app.accounts.assembly import AccountsFeature
from app.core.clock import Clock
from app.core.logging import get_logger
from app.core.mongo import Database
from app.core.settings import Settings
from app.governance.audit import AuditLog
from app.governance.service import GovernanceService
from app.tools.connections.access import Access, process_environment
from app.tools.connections.connection import Connection, Connections
from app.tools.connections.policy_file import load_connections
from app.tools.connections.port import Sender
from app.tools.connections.request_tool import RequestTool
from app.tools.custom.client import ToolClient
from app.tools.custom.loading import CustomModules
from app.tools.gatekeeper import Gatekeeper
from app.tools.hook import load_hook
from app.tools.listing import ToolListing
from app.tools.operating import Operating
from app.tools.order_reads import (
    AdminListUsers,
    AdminListWorkOrders,
    AdminMetrics,
    GetProfile,
    ListMyWorkOrders,
    SearchMyWorkOrders,
)
from app.tools.order_writes import CreateWorkOrder, DeleteWorkOrder, UpdateWorkOrder
from app.tools.policy import ToolPolicy
from app.tools.registry import ToolRegistry
from app.tools.review_repository import ReviewRepository
from app.tools.reviews import ReviewQueue
from app.tools.tool import Tool
from app.tools.triage_write import DESCRIPTION, TRIAGE_APPLY
from app.web.limits import RateLimiter
from app.work_orders.service import WorkOrderService

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ToolsFeature:
    """What the copilot and the operator's pages work with."""

    registry: ToolRegistry
    gatekeeper: Gatekeeper
    reviews: ReviewQueue
    listing: ToolListing
    operating: Operating


def open_tools(
    settings: Settings,
    *,
    database: Database,
    clock: Clock,
    accounts: AccountsFeature,
    orders: WorkOrderService,
    governance: GovernanceService,
    audit: AuditLog,
    limiter: RateLimiter,
    sender: Sender,
    custom: CustomModules,
) -> ToolsFeature:
    """Raises `SettingsError`, one line per fault: connections, custom tools, the hook."""
    tools = desk_tools(accounts, orders)
    request = _request_tool(settings, sender, limiter)
    if request is not None:
        tools.append(request)
    registry = ToolRegistry(tools)
    gatekeeper = Gatekeeper(registry, governance, load_hook(settings.tool_hook))
    client = ToolClient(
        gatekeeper,
        lists_orders=ListMyWorkOrders(orders),
        gets_profile=GetProfile(accounts.accounts),
        request=request,
        accounts=accounts.accounts,
        orders=orders,
    )
    registry.add(custom.tools(client, registry.names()))
    return ToolsFeature(
        registry=registry,
        gatekeeper=gatekeeper,
        reviews=ReviewQueue(ReviewRepository(database), audit, clock),
        listing=ToolListing([*_listed(registry, request), (TRIAGE_APPLY, DESCRIPTION)], gatekeeper, governance),
        operating=Operating(registry, gatekeeper, audit, clock),
    )


def desk_tools(accounts: AccountsFeature, orders: WorkOrderService) -> list[Tool]:
    """The desk's own tools in the order the model sees them (003 §4.2)."""
    return [
        ListMyWorkOrders(orders),
        SearchMyWorkOrders(orders),
        GetProfile(accounts.accounts),
        AdminListWorkOrders(orders),
        AdminListUsers(accounts.user_admin),
        AdminMetrics(accounts.accounts, orders),
        CreateWorkOrder(orders),
        UpdateWorkOrder(orders),
        DeleteWorkOrder(orders),
    ]


def _request_tool(settings: Settings, sender: Sender, limiter: RateLimiter) -> RequestTool | None:
    """Over the connections that can be called as things are; None where there is none of these.

    The model is not offered what it cannot use. What is left out is told, and tried again at the next start.
    """
    access = Access(sender, process_environment())
    usable: list[Connection] = []
    for connection in load_connections(settings.connections_dir):
        if fault := access.fault(connection):
            log.warning("connection_left_out", connection=connection.source, why=fault)
        else:
            usable.append(connection)
    return RequestTool(Connections(usable), sender, limiter) if usable else None


def _listed(registry: ToolRegistry, request: RequestTool | None) -> list[tuple[ToolPolicy, str]]:
    """Every tool, then every endpoint of the connections."""
    endpoints = request.endpoint_policies if request else ()
    return [(tool.policy, tool.description) for tool in registry] + [
        (policy, policy.reason or "") for policy in endpoints
    ]
