"""Every Beanie document, for `bind_documents`: collections and their indexes (DATA-2, DATA-3)."""

from __future__ import annotations

from beanie import Document

from app.accounts.models import Lock, RefreshSession, User
from app.copilot.models import CopilotSession
from app.governance.models import AgentConfig, AgentConfigAudit, AgentSpend
from app.outbox.models import OutboxEvent
from app.runs.models import AgentMessage, AgentRun, AgentToolCall
from app.tools.models import ToolReview
from app.triage.models import TriageSuggestion
from app.work_orders.models import WorkOrder

DOCUMENTS: list[type[Document]] = [
    User,
    RefreshSession,
    Lock,
    WorkOrder,
    OutboxEvent,
    AgentConfig,
    AgentConfigAudit,
    AgentSpend,
    AgentRun,
    AgentMessage,
    AgentToolCall,
    ToolReview,
    CopilotSession,
    TriageSuggestion,
]
