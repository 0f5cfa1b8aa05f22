"""Proposals, suggestions and what became of a pass (AGT-4, 003 §8.3, D-21, D-30)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from bson import ObjectId
from pydantic import Field

from app.core.schemas import Moment, OffsetPage, Sparse, Strict, Wire
from app.governance.schemas import WaitReason
from app.work_orders.schemas import PRIORITIES, Priority, WorkOrderPublic

SUMMARY_MAX = 500

AutoApply = Literal["pending", "applied", "dropped"]
PassOutcome = Literal["done", "skipped", "waiting", "failed"]
SuggestionState = Literal["suggested", "applied", "dismissed", "undone"]
CardState = Literal["waiting", "none", "suggested", "applied", "dismissed", "undone"]


def rank(priority: Priority) -> int:
    """0 for low, 2 for high."""
    return PRIORITIES.index(priority)


class Proposal(Strict):
    """What the model may say of an order: nothing else, and no status (AGT-4)."""

    summary: Annotated[str, Field(min_length=1, max_length=SUMMARY_MAX)]
    suggested_priority: Priority
    flag_for_dispatcher: bool


@dataclass(frozen=True, slots=True)
class PassResult:
    """How a pass ended. `reason` is one plain sentence where there is something to say.

    `closed`: the gate closed on it, and so on every other event.
    """

    outcome: PassOutcome
    run_id: ObjectId | None = None
    reason: str | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class DrainCounts:
    """How many passes of a drain ended how."""

    done: int = 0
    skipped: int = 0
    waiting: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.done + self.skipped + self.waiting + self.failed


class TriageSuggestionPublic(Sparse):
    """`TriageSuggestion` of 003 §8.3, and who decided (D-15)."""

    id: str
    work_order_id: str
    run_id: str
    summary: str
    suggested_priority: Priority
    flag_for_dispatcher: bool
    applied: bool
    created_at: Moment
    applied_at: Moment | None = None
    applied_by: str | None = None
    dismissed_at: Moment | None = None
    dismissed_by: str | None = None
    undone_at: Moment | None = None
    undone_by: str | None = None


class AttentionItemPublic(TriageSuggestionPublic):
    """A flagged suggestion that nobody acted on yet, with its order (AGT-6)."""

    work_order: WorkOrderPublic


@dataclass(frozen=True, slots=True)
class SuggestionCard:
    """A suggestion as the order's page shows it. `next_try` counts the looks while waiting; 0: look no more."""

    state: CardState
    id: str = ""
    summary: str = ""
    priority: Priority = "medium"
    flagged: bool = False
    by_name: str | None = None
    at: datetime | None = None
    can_decide: bool = False
    can_undo: bool = False
    note: str | None = None
    next_try: int = 0


class TriggerIn(Strict):
    """`{workOrderId}` (D-21)."""

    work_order_id: Annotated[str, Field(max_length=24)]


class TriggerOut(Sparse):
    """`{outcome, runId, reason?}` (D-21)."""

    always = frozenset({"runId", "run_id"})

    outcome: PassOutcome
    run_id: str | None
    reason: str | None = None


class OutboxEventPublic(Sparse):
    """An outbox event as a dispatcher sees it (D-30)."""

    id: str
    type: str
    payload_ref: str
    status: Literal["pending", "processing", "done", "failed"]
    attempts: int
    created_at: Moment
    available_at: Moment | None = None
    wait_reason: str | None = None
    last_error: str | None = None
    outcome: str | None = None


class OutboxPage(OffsetPage[OutboxEventPublic]):
    """Events, and how many there are in each state; `closed` says why triage does not work now (D-11, D-18)."""

    pending: int
    processing: int
    failed: int
    waiting: dict[str, int]
    closed: WaitReason | None


class SwitchState(Wire):
    """What the kill switch leaves on (D-18)."""

    enabled: bool
    copilot_enabled: bool


class Retried(Wire):
    """The event is due again."""

    status: Literal["pending"] = "pending"


class Effects(Wire):
    """What a policy makes of past orders: flags, writes by itself, and waits; `longest_wait_s` in seconds."""

    flagged: int
    applied: int
    raised: int
    lowered: int
    waits_for_hours: int
    waits_for_calls: int
    longest_wait_s: int


class ReplayReport(Wire):
    """The present policy (`now`) and a changed one (`then`) over the same `orders` of the last `days` days."""

    days: int
    orders: int
    now: Effects
    then: Effects
