"""`triagesuggestions`: what triage said of an order, and what people made of it (003 §9, D-14, D-15)."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from beanie import Document, PydanticObjectId
from pydantic import ConfigDict
from pymongo import ASCENDING, DESCENDING, IndexModel

from app.core.mongo import database_alias
from app.triage.schemas import AutoApply
from app.work_orders.schemas import Priority

NEEDS_A_LOOK = {"flagForDispatcher": True, "actedAt": None}
"""Flagged, and not known to be acted on (AGT-6)."""


class TriageSuggestion(Document):
    """One suggestion per event: `event_key` is unique. Rows of an older desk lack it and what follows `created_at`.

    `priority_read` is the order's priority when the model was asked; `apply_mark` names the change of the order that
    applied it, at `applied_version`. `applied_by` is a person's id or "system". `model_flagged` is the model's own
    word; `flag_for_dispatcher` adds the policy's threshold. `acted_at` keeps that the attention list is done with it.
    """

    model_config = ConfigDict(alias_generator=database_alias, populate_by_name=True, extra="allow")
    id: PydanticObjectId
    work_order_id: PydanticObjectId
    run_id: PydanticObjectId
    summary: str
    suggested_priority: Priority
    flag_for_dispatcher: bool
    applied: bool = False
    created_at: datetime
    event_key: str | None = None
    priority_read: Priority | None = None
    model_flagged: bool | None = None
    auto_apply: AutoApply | None = None
    note: str | None = None
    apply_mark: str | None = None
    applied_version: int | None = None
    applied_at: datetime | None = None
    applied_by: str | None = None
    dismissed_at: datetime | None = None
    dismissed_by: str | None = None
    undone_at: datetime | None = None
    undone_by: str | None = None
    acted_at: datetime | None = None

    class Settings:
        name = "triagesuggestions"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel(
                [("eventKey", ASCENDING)],
                name="one_per_event",
                unique=True,
                partialFilterExpression={"eventKey": {"$type": "string"}},
            ),
            IndexModel([("workOrderId", ASCENDING), ("createdAt", DESCENDING)], name="of_order"),
            IndexModel([("runId", ASCENDING)], name="of_run"),
            IndexModel([("createdAt", DESCENDING)], name="newest"),
            IndexModel(
                [("createdAt", DESCENDING), ("_id", DESCENDING)],
                name="attention",
                partialFilterExpression=NEEDS_A_LOOK,
            ),
        ]
