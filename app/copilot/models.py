"""`copilotsessions`: one active conversation per person (COP-1)."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal

from beanie import Document, PydanticObjectId
from pydantic import ConfigDict
from pymongo import ASCENDING, DESCENDING, IndexModel

from app.core.mongo import database_alias
from app.runs.models import RECORD_DAYS


class CopilotSession(Document):
    """A conversation; its turns are runs."""

    model_config = ConfigDict(alias_generator=database_alias, populate_by_name=True, extra="allow")
    id: PydanticObjectId
    user_id: PydanticObjectId
    status: Literal["active", "archived", "expired"] = "active"
    created_at: datetime
    updated_at: datetime

    class Settings:
        name = "copilotsessions"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("userId", ASCENDING), ("status", ASCENDING)], name="of_user"),
            IndexModel(
                [("userId", ASCENDING)],
                name="one_active_per_user",
                unique=True,
                partialFilterExpression={"status": "active"},
            ),
            IndexModel([("userId", ASCENDING), ("createdAt", DESCENDING)], name="recent"),
            IndexModel([("createdAt", ASCENDING)], name="kept_one_year", expireAfterSeconds=RECORD_DAYS * 86_400),
        ]
