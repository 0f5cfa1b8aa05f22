"""`workorders`: the orders, their bounded history, and what title search needs (WO-1, D-5, DATA-3)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from beanie import Document, PydanticObjectId
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pymongo import ASCENDING, DESCENDING, IndexModel

from app.work_orders.schemas import Action, Priority, Status, Via

HISTORY_MAX = 50

_CONFIG = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")
_NEWEST = [("createdAt", DESCENDING), ("_id", DESCENDING)]
_LIVE: dict[str, Any] = {"deletedAt": None}
_SEARCHABLE = {"titleFold": {"$exists": True}}
_TITLE = [("titleFold", ASCENDING), ("status", ASCENDING), ("priority", ASCENDING)]

OWN, OWN_FILTERED, OWN_TITLES = "orders_own", "orders_own_filtered", "orders_own_titles"
ALL, ALL_FILTERED, ALL_TITLES = "orders_all", "orders_all_filtered", "orders_all_titles"
GRAMS, UNFOLDED = "orders_grams", "orders_unfolded"
"""Index names. Lists name theirs, so that what a query examines never depends on a planner's guess."""


class FieldChange(BaseModel):
    """One field before and after."""

    model_config = _CONFIG
    field: str
    before: Any = None
    after: Any = None


class StoredMark(BaseModel):
    """One change of an order (D-5). `version` is the one it produced."""

    model_config = _CONFIG
    tool_call_id: str | None = None
    by: PydanticObjectId | Literal["system"]
    at: datetime
    version: int
    via: Via = "person"
    action: Action = "changed"
    changes: list[FieldChange] = Field(default_factory=list)


class WorkOrder(Document):
    """One order. `title_fold` and `title_grams` exist on live orders only, so indexes over them need no `deletedAt`."""

    model_config = _CONFIG
    title: str
    description: str | None = None
    priority: Priority = "medium"
    status: Status = "pending"
    owner: PydanticObjectId
    version: int = 1
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    history: list[StoredMark] = Field(default_factory=list)
    title_fold: str | None = None
    title_grams: list[str] | None = None
    event_not_owed: bool | None = None
    """True on seeded orders: reconcile makes no outbox event for them (D-27)."""

    class Settings:
        name = "workorders"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("owner", ASCENDING), *_NEWEST], name=OWN, partialFilterExpression=_LIVE),
            IndexModel(
                [("owner", ASCENDING), ("status", ASCENDING), ("priority", ASCENDING), *_NEWEST],
                name=OWN_FILTERED,
                partialFilterExpression=_LIVE,
            ),
            IndexModel([("owner", ASCENDING), *_NEWEST, *_TITLE], name=OWN_TITLES, partialFilterExpression=_SEARCHABLE),
            IndexModel(_NEWEST, name=ALL, partialFilterExpression=_LIVE),
            IndexModel(
                [("status", ASCENDING), ("priority", ASCENDING), *_NEWEST],
                name=ALL_FILTERED,
                partialFilterExpression=_LIVE,
            ),
            IndexModel([*_NEWEST, *_TITLE], name=ALL_TITLES, partialFilterExpression=_SEARCHABLE),
            IndexModel([("titleGrams", ASCENDING)], name=GRAMS, sparse=True),
            IndexModel([("titleFold", ASCENDING)], name=UNFOLDED, partialFilterExpression={"titleFold": None, **_LIVE}),
        ]
