"""Agents' records: runs, messages, tool calls (003 §9, SEC-11).

A working run carries its own transcript: one document, so that each step is one fenced conditional update (D-1).
`agentmessages` is the lasting copy of it for people to read; it is filled idempotently, so it can be completed later.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar

from beanie import Document, PydanticObjectId
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pymongo import ASCENDING, DESCENDING, IndexModel

from app.core.mongo import database_alias
from app.runs.schemas import Outcome, RunMode, RunStatus

_ROW = ConfigDict(alias_generator=database_alias, populate_by_name=True, extra="allow")
_CONFIG = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")

RECORD_DAYS = 365
CONTENT_DAYS = 90


class StepCall(BaseModel):
    """A call as the model asked for it: strictly parsed arguments, or the fault that keeps it from running (D-9)."""

    model_config = _CONFIG
    id: PydanticObjectId
    tool: str
    args: dict[str, Any] | None = None
    fault: str | None = None


class Step(BaseModel):
    """One entry of a working run's transcript. `result_of` names the call that a tool message answers."""

    model_config = _CONFIG
    role: str
    content: str
    calls: list[StepCall] = Field(default_factory=list)
    result_of: PydanticObjectId | None = None
    at: datetime


class StopRequest(BaseModel):
    """Somebody asked a run to stop: seen between steps and by the working process at once (D-3, D-18, AUTH-6)."""

    model_config = _CONFIG
    reason: str
    at: datetime


class AgentRun(Document):
    """One run. `fence` counts its leases; `parked_on` is the call whose decision it waits for."""

    model_config = _ROW
    id: PydanticObjectId
    session_id: PydanticObjectId | None = None
    user_id: PydanticObjectId | None = None
    mode: RunMode
    agent_name: str | None = None
    status: RunStatus
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    spent_usd: float = 0.0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error_code: str | None = None
    lease_until: datetime | None = None
    fence: int = 0
    parked_on: PydanticObjectId | None = None
    idempotency_key: str | None = None
    request_id: str | None = None
    work_order_id: PydanticObjectId | None = None
    step_count: int = 0
    transcript: list[Step] = Field(default_factory=list)
    stop: StopRequest | None = None
    created_at: datetime
    updated_at: datetime

    class Settings:
        name = "agentruns"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel(
                [("userId", ASCENDING)],
                name="one_working_run_per_user",
                unique=True,
                partialFilterExpression={"status": "running", "mode": "copilot"},
            ),
            IndexModel(
                [("userId", ASCENDING), ("idempotencyKey", ASCENDING)],
                name="idempotency_key",
                unique=True,
                partialFilterExpression={"idempotencyKey": {"$type": "string"}},
            ),
            IndexModel([("userId", ASCENDING), ("createdAt", DESCENDING)], name="of_user"),
            IndexModel([("sessionId", ASCENDING), ("createdAt", DESCENDING)], name="of_session"),
            IndexModel([("mode", ASCENDING), ("createdAt", DESCENDING), ("status", ASCENDING)], name="by_mode_and_day"),
            IndexModel([("status", ASCENDING), ("createdAt", DESCENDING)], name="by_status"),
            IndexModel([("status", ASCENDING), ("leaseUntil", ASCENDING)], name="lapsed"),
            IndexModel([("createdAt", ASCENDING)], name="kept_one_year", expireAfterSeconds=RECORD_DAYS * 86_400),
        ]


class AgentMessage(Document):
    """One message, for people to read; gone after 90 days (SEC-12)."""

    model_config = _ROW
    id: PydanticObjectId
    run_id: PydanticObjectId
    role: str
    content: str
    seq: int | None = None
    tool_call_id: str | None = None
    name: str | None = None
    created_at: datetime
    expires_at: datetime

    class Settings:
        name = "agentmessages"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("runId", ASCENDING), ("seq", ASCENDING)], name="of_run"),
            IndexModel([("expiresAt", ASCENDING)], name="kept_90_days", expireAfterSeconds=0),
        ]


class Approval(BaseModel):
    """The decision that a staged call waits for, and what became of it.

    `nonce` makes the confirmation token; `token_hash` is its SHA-256, by which a call is found (T-12).
    """

    model_config = _CONFIG
    status: str
    summary: str
    expires_at: datetime
    nonce: str = ""
    token_hash: str | None = None
    extensions: int = 0
    decided_by: str | None = None
    decided_at: datetime | None = None
    reason: str | None = None


class CallLease(BaseModel):
    """Who executes an approved call, and until when another may take it over."""

    model_config = _CONFIG
    by: str
    until: datetime


def _object_or_none(value: Any) -> Any:
    """An older desk kept malformed arguments as text: they are none, and the stored text stays as it is (DATA-2)."""
    return value if isinstance(value, dict) else None


class AgentToolCall(Document):
    """One call: frozen arguments, pre-image, decision, the gate's proof, outcome (SEC-11, T-13).

    `code` classes a failure; `reads` maps the orders that the result showed to their versions: the run's seen ids.
    `handshake_hash` is of what both calls of a handshake have in common, `spent_by` the one that used an approved
    preview up (T-10); `review_id` names the reviewed request that a dispatcher let run (T-8).
    """

    model_config = _ROW
    id: PydanticObjectId
    run_id: PydanticObjectId
    user_id: PydanticObjectId | None = None
    tool: str
    args: Annotated[dict[str, Any] | None, BeforeValidator(_object_or_none)] = None
    outcome: Outcome
    result: Any = None
    latency_ms: int = 0
    staged_version: int | None = None
    executed_version: int | None = None
    pre_image: dict[str, Any] | None = None
    after_diff: dict[str, Any] | None = None
    approval: Approval | None = None
    args_hash: str | None = None
    executed_hash: str | None = None
    code: str | None = None
    reads: dict[str, int] = Field(default_factory=dict)
    target_id: PydanticObjectId | None = None
    supersedes: PydanticObjectId | None = None
    superseded_by: PydanticObjectId | None = None
    decision: dict[str, Any] | None = None
    undone_at: datetime | None = None
    handshake_hash: str | None = None
    spent_by: PydanticObjectId | None = None
    review_id: PydanticObjectId | None = None
    lease: CallLease | None = None
    attempt: int = 0
    created_at: datetime
    updated_at: datetime

    class Settings:
        name = "agenttoolcalls"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("runId", ASCENDING), ("createdAt", ASCENDING)], name="of_run"),
            IndexModel(
                [("userId", ASCENDING), ("outcome", ASCENDING), ("createdAt", DESCENDING)], name="of_user_by_outcome"
            ),
            IndexModel([("outcome", ASCENDING), ("approval.expiresAt", ASCENDING)], name="by_outcome"),
            IndexModel(
                [("approval.tokenHash", ASCENDING)],
                name="confirmation_token",
                unique=True,
                partialFilterExpression={"approval.tokenHash": {"$type": "string"}},
            ),
            IndexModel([("createdAt", ASCENDING)], name="kept_one_year", expireAfterSeconds=RECORD_DAYS * 86_400),
        ]
