"""`outboxevents`: what happened and must be acted on once (AGT-1, D-11).

`availableAt` exists only while an event is open and is both due time and lease, so one sparse index serves the claim.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from beanie import Document
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from pymongo import ASCENDING, DESCENDING, IndexModel

from app.outbox.schemas import EventStatus


class OutboxEvent(Document):
    """One event per `{type, payloadRef}`; rows of an older desk lack `availableAt` and the fields after it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")
    type: str
    payload_ref: str
    status: EventStatus = "pending"
    attempts: int = 0
    created_at: datetime
    updated_at: datetime
    claimed_at: datetime | None = None
    leased_until: datetime | None = None
    available_at: datetime | None = None
    claim: str | None = None
    wait_reason: str | None = None
    last_error: str | None = None
    outcome: str | None = None

    class Settings:
        name = "outboxevents"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("type", ASCENDING), ("payloadRef", ASCENDING)], unique=True),
            IndexModel([("availableAt", ASCENDING)], sparse=True),
            IndexModel([("status", ASCENDING), ("availableAt", ASCENDING), ("waitReason", ASCENDING)]),
            IndexModel([("status", ASCENDING), ("createdAt", DESCENDING), ("_id", DESCENDING)]),
        ]
