"""What an agent did, on the wire (003 §8.3, D-23, D-30)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.core.schemas import Moment, Sparse, Wire

RunMode = Literal["copilot", "autonomous"]
RunStatus = Literal["running", "complete", "error", "budget_exceeded", "expired", "aborted"]
Outcome = Literal["pending", "approved", "executed", "rejected", "expired", "stale", "error", "blocked", "aborted"]

FINAL_OUTCOMES: frozenset[str] = frozenset({"executed", "rejected", "expired", "stale", "error", "blocked", "aborted"})


class AgentRunPublic(Sparse):
    """One turn of the copilot or one triage pass."""

    always = frozenset({"actorId", "actor_id"})

    id: str
    mode: RunMode
    actor_id: str | None
    agent_name: str | None = None
    status: RunStatus
    model: str
    input_tokens: int
    output_tokens: int
    started_at: Moment
    finished_at: Moment | None = None
    error_code: str | None = None
    spent_usd: float | None = None


class ApprovalPublic(Sparse):
    """The state of a decision (D-30)."""

    status: Literal["pending", "approved", "rejected", "expired", "stale", "aborted"]
    summary: str
    expires_at: Moment
    decided_by: str | None = None
    decided_at: Moment | None = None
    reason: str | None = None


class AgentToolCallPublic(Sparse):
    """One call of a tool, with what was shown and what ran."""

    always = frozenset({"args", "preImage", "pre_image"})

    id: str
    run_id: str
    tool: str
    args: dict[str, Any] | None
    outcome: Outcome
    result: Any = None
    latency_ms: int
    created_at: Moment
    staged_version: int | None = None
    executed_version: int | None = None
    pre_image: dict[str, Any] | None = None
    approval: ApprovalPublic | None = None
    args_hash: str | None = None
    executed_hash: str | None = None
    supersedes: str | None = None
    decision: dict[str, Any] | None = None


class AgentMessagePublic(Sparse):
    """One message of a run's transcript."""

    id: str
    run_id: str
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_call_id: str | None = None
    name: str | None = None
    created_at: Moment


class RunDetail(Wire):
    """A run with everything it said and did."""

    run: AgentRunPublic
    messages: list[AgentMessagePublic]
    tool_calls: list[AgentToolCallPublic]


@dataclass(frozen=True, slots=True)
class DailyRuns:
    """How many runs of one status a UTC day (`YYYY-MM-DD`) had."""

    day: str
    status: RunStatus
    runs: int
