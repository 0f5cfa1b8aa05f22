"""Requests that a dispatcher must look at before they run (T-8)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from beanie import Document, PydanticObjectId
from pydantic import ConfigDict
from pymongo import ASCENDING, DESCENDING, IndexModel

from app.core.mongo import database_alias

ReviewStatus = Literal["waiting", "released", "run", "refused", "failed"]
KEPT_DAYS = 365


class ToolReview(Document):
    """One frozen request. `released`: a dispatcher let it run, and its effect is not on record yet.

    `call_id` is the call that was denied, `ran_as` the one that ran; `is_audited`: the audit trail has the decision.
    """

    model_config = ConfigDict(alias_generator=database_alias, populate_by_name=True, extra="allow")
    id: PydanticObjectId
    run_id: PydanticObjectId
    call_id: PydanticObjectId
    requester_id: PydanticObjectId
    tool: str
    args: dict[str, Any]
    args_hash: str
    target_id: PydanticObjectId
    staged_version: int | None = None
    pre_image: dict[str, Any] | None = None
    after_diff: dict[str, Any]
    summary: str
    decision: dict[str, Any]
    why: str
    status: ReviewStatus = "waiting"
    decided_by: str | None = None
    decided_at: datetime | None = None
    reason: str | None = None
    outcome: str | None = None
    ran_as: PydanticObjectId | None = None
    is_audited: bool = False
    created_at: datetime
    updated_at: datetime

    class Settings:
        name = "toolreviews"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("status", ASCENDING), ("createdAt", DESCENDING)], name="by_status"),
            IndexModel([("isAudited", ASCENDING), ("status", ASCENDING)], name="by_audit"),
            IndexModel([("requesterId", ASCENDING), ("status", ASCENDING)], name="of_requester"),
            IndexModel([("requesterId", ASCENDING), ("createdAt", DESCENDING)], name="of_requester_newest"),
            IndexModel([("createdAt", ASCENDING)], name="kept_one_year", expireAfterSeconds=KEPT_DAYS * 86_400),
        ]
