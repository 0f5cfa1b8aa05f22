"""An outbox event as the worker and the admin page see it (003 §9, D-11)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

EventStatus = Literal["pending", "processing", "done", "failed"]

RETRY = "retry"
"""The wait reason of an event whose last attempt failed and will be repeated."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `claim` names the holder of its lease; `attempts` counts claims that were not parked.

    `available_at` exists while the event is open: when it is due, or when the lease of its holder ends.
    """

    id: str
    type: str
    payload_ref: str
    status: EventStatus
    attempts: int
    created_at: datetime
    updated_at: datetime
    available_at: datetime | None = None
    claim: str | None = None
    wait_reason: str | None = None
    last_error: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class OutboxCounts:
    """How many events are in each state; `parked` counts those of `pending` that wait, by reason (D-11, D-18)."""

    pending: int
    processing: int
    failed: int
    parked: dict[str, int]
