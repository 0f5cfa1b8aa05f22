"""What is written for runs, messages and calls: pure, from light values to database fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from pydantic.alias_generators import to_camel

from app.core.ids import derived_id, new_id
from app.runs.models import CONTENT_DAYS, AgentRun, Step
from app.runs.schemas import RunStatus

_DECIDED = frozenset({"approved", "rejected", "expired", "stale", "aborted"})


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run starts from."""

    mode: str
    model: str
    first: list[Step]
    user_id: ObjectId | None = None
    session_id: ObjectId | None = None
    agent_name: str | None = None
    idempotency_key: str | None = None
    request_id: str | None = None
    work_order_id: ObjectId | None = None


def run_row(new: NewRun, now: datetime, lease_until: datetime) -> dict[str, Any]:
    """A working run with its first lease."""
    run = AgentRun.model_construct(
        id=new_id(),
        session_id=new.session_id,
        user_id=new.user_id,
        mode=new.mode,
        agent_name=new.agent_name,
        status="running",
        model=new.model,
        started_at=now,
        lease_until=lease_until,
        fence=1,
        idempotency_key=new.idempotency_key,
        request_id=new.request_id,
        work_order_id=new.work_order_id,
        transcript=new.first,
        created_at=now,
        updated_at=now,
    )
    row: dict[str, Any] = run.model_dump(by_alias=True, exclude={"id"})
    if new.idempotency_key is None:
        row.pop("idempotencyKey")
    return {"_id": run.id} | row


def message_row(run: AgentRun, seq: int) -> dict[str, Any]:
    """The `seq`-th step of a transcript for people to read; its id is derived, so that a retry meets it."""
    step = run.transcript[seq]
    row: dict[str, Any] = {
        "_id": derived_id(str(run.id), "message", str(seq)),
        "runId": run.id,
        "seq": seq,
        "role": step.role,
        "content": step.content,
        "createdAt": step.at,
        "expiresAt": step.at + timedelta(days=CONTENT_DAYS),
    }
    return row | ({"toolCallId": str(step.result_of)} if step.result_of is not None else {})


def ending_fields(status: RunStatus, error_code: str | None, now: datetime) -> dict[str, Any]:
    """What an ended run has instead of a lease."""
    return {
        "status": status,
        "errorCode": error_code,
        "finishedAt": now,
        "leaseUntil": None,
        "parkedOn": None,
        "updatedAt": now,
    }


def moved_fields(outcome: str, fields: dict[str, Any], now: datetime) -> dict[str, Any]:
    """A call's next outcome. `fields` are its attributes, or those of its approval with the prefix `approval_`."""
    values: dict[str, Any] = {"outcome": outcome, "updatedAt": now, "lease": None}
    if outcome in _DECIDED:
        values["approval.status"] = outcome
    for name, value in fields.items():
        inner = name.removeprefix("approval_")
        values[to_camel(name) if inner == name else f"approval.{to_camel(inner)}"] = value
    return values


def pushing(steps: Sequence[Step]) -> dict[str, Any]:
    """The update that lets the transcript grow by `steps`."""
    if not steps:
        return {}
    return {"$push": {"transcript": {"$each": [step.model_dump(by_alias=True) for step in steps]}}}
