"""Records as they go over the wire."""

from __future__ import annotations

from typing import Any

from app.runs.models import AgentMessage, AgentRun, AgentToolCall
from app.runs.schemas import AgentMessagePublic, AgentRunPublic, AgentToolCallPublic, ApprovalPublic


def run(record: AgentRun) -> AgentRunPublic:
    """`AgentRun` of 003 §8.3. An older desk's runs have no `startedAt`: `createdAt` serves."""
    return AgentRunPublic(
        id=str(record.id),
        mode=record.mode,
        actor_id=str(record.user_id) if record.user_id else None,
        agent_name=record.agent_name,
        status=record.status,
        model=record.model,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        started_at=record.started_at or record.created_at,
        finished_at=record.finished_at,
        error_code=record.error_code,
        spent_usd=record.spent_usd,
    )


def tool_call(record: AgentToolCall) -> AgentToolCallPublic:
    """`AgentToolCall` of 003 §8.3, with what D-8 and T-13 add. Tokens and nonces stay inside."""
    return AgentToolCallPublic(
        id=str(record.id),
        run_id=str(record.run_id),
        tool=record.tool,
        args=record.args,
        outcome=record.outcome,
        result=record.result,
        latency_ms=record.latency_ms,
        created_at=record.created_at,
        staged_version=record.staged_version,
        executed_version=record.executed_version,
        pre_image=record.pre_image,
        approval=approval(record),
        args_hash=record.args_hash,
        executed_hash=record.executed_hash,
        supersedes=str(record.supersedes) if record.supersedes else None,
        decision=record.decision,
    )


def approval(record: AgentToolCall) -> ApprovalPublic | None:
    """`{status, summary, expiresAt, decidedBy, decidedAt, reason?}` (D-30)."""
    if record.approval is None:
        return None
    values: dict[str, Any] = record.approval.model_dump(
        include={"status", "summary", "expires_at", "decided_by", "decided_at", "reason"}
    )
    return ApprovalPublic(**values)


def message(record: AgentMessage) -> AgentMessagePublic:
    return AgentMessagePublic(
        id=str(record.id),
        run_id=str(record.run_id),
        role=record.role,
        content=record.content,
        tool_call_id=record.tool_call_id,
        name=record.name,
        created_at=record.created_at,
    )
