"""Work orders on the wire (HTTP-3) and in light structs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from bson import ObjectId
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from app.accounts.people import PersonRef
from app.core.schemas import CursorPage, Moment, Strict, Text, Wire

Priority = Literal["low", "medium", "high"]
Status = Literal["pending", "in_progress", "done"]
Via = Literal["person", "copilot", "triage", "undo"]
Action = Literal["created", "changed", "deleted", "restored"]

PRIORITIES: tuple[Priority, ...] = ("low", "medium", "high")
STATUSES: tuple[Status, ...] = ("pending", "in_progress", "done")
FIELDS = ("title", "description", "priority", "status")
"""The fields that people and tools may change, in the order pages show them."""

TITLE_MIN, TITLE_MAX, DESCRIPTION_MAX, SEARCH_MAX = 3, 100, 2000, 64
PAGE_DEFAULT, PAGE_MAX = 20, 100

Title = Annotated[Text, Field(min_length=TITLE_MIN, max_length=TITLE_MAX)]
Description = Annotated[Text, Field(max_length=DESCRIPTION_MAX)]
Version = Annotated[int, Field(ge=1, le=2**53)]


class WorkOrderPublic(Wire):
    """A work order as anyone who may see it sees it (HTTP-3)."""

    id: str
    title: str
    description: str | None
    priority: Priority
    status: Status
    owner: PersonRef
    version: int
    created_at: Moment
    updated_at: Moment


class OrderPage(CursorPage[WorkOrderPublic]):
    """A page of orders. `searched_to`: a search was cut short there; the next page goes on from it."""

    searched_to: Moment | None = Field(default=None, exclude=True)


class WorkOrderCreate(Strict):
    """`{title, description?, priority?, status?}` (WO-1, WO-5)."""

    title: Title
    description: Description | None = None
    priority: Priority = "medium"
    status: Status = "pending"


class WorkOrderFields(Strict):
    """The fields a tool may pick for a change: the same limits, no version and no owner (003 §4.3)."""

    title: Title | None = None
    description: Description | None = None
    priority: Priority | None = None
    status: Status | None = None

    @field_validator("title", "priority", "status")
    @classmethod
    def _not_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("Must not be null; leave the field out to keep it.")
        return value

    def changes(self) -> dict[str, Any]:
        """The fields that were given, by name; a description of null clears it."""
        return self.model_dump(include=self.model_fields_set & set(FIELDS))


class WorkOrderUpdate(WorkOrderFields):
    """`{version, title?, description?, priority?, status?}`, at least one field beside the version (WO-6)."""

    version: Version

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.changes():
            raise ValueError("Give at least one field to change.")
        return self


class WorkOrderDelete(Strict):
    """`{version}` (WO-7)."""

    version: Version


class OrderFilter(BaseModel):
    """What a list shows: exact status and priority, a title substring; empty means all (WO-4)."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    status: Status | None = None
    priority: Priority | None = None
    search: Annotated[Text, Field(max_length=SEARCH_MAX)] | None = None

    @field_validator("status", "priority", "search", mode="before")
    @classmethod
    def _empty_means_all(cls, value: object) -> object:
        return None if isinstance(value, str) and not value.strip() else value


class ListQuery(OrderFilter):
    """The query of a list: a filter, where to go on, and how many (WO-3)."""

    cursor: Annotated[str, Field(max_length=500)] | None = None
    limit: Annotated[int, Field(ge=1, le=PAGE_MAX)] = PAGE_DEFAULT

    @field_validator("limit", mode="before")
    @classmethod
    def _plain_digits(cls, value: object) -> object:
        return (
            int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9 else value
        )

    @field_validator("cursor", mode="before")
    @classmethod
    def _first_page(cls, value: object) -> object:
        return None if value == "" else value


@dataclass(frozen=True, slots=True)
class Mark:
    """Who is behind a change beside the actor: the tool call that a retry recognises, and the way it came (D-5)."""

    tool_call_id: str | None
    via: Via


BY_HAND = Mark(None, "person")


@dataclass(frozen=True, slots=True)
class Change:
    """One field before and after."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class HistoryMark:
    """One mark of an order's history. `version` is the one it produced; `by` a person's id or "system"."""

    tool_call_id: str | None
    by: ObjectId | Literal["system"]
    at: datetime
    version: int
    via: Via
    action: Action
    changes: list[Change]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A mark as a page shows it."""

    by: str
    by_name: str
    at: datetime
    action: Action
    changes: list[Change]
    via: Via
    version: int
    tool_call_id: str | None = None


class WorkOrderDetail(WorkOrderPublic):
    """An order with its history, newest first, as its page shows it."""

    history: list[HistoryEntry]


class Order(Struct, frozen=True):
    """A work order as it lies in the database, without its history."""

    id: ObjectId
    title: str
    description: str | None
    priority: Priority
    status: Status
    owner: ObjectId
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """An order as it is now, deleted or not, with its marks, oldest first."""

    order: WorkOrderPublic
    deleted: bool
    marks: list[HistoryMark]


@dataclass(frozen=True, slots=True)
class TriageOrder:
    """What triage reads of an order (AGT-4)."""

    id: ObjectId
    title: str
    description: str | None
    priority: Priority
    status: Status
    owner: ObjectId
    version: int


@dataclass(frozen=True, slots=True)
class PastOrder:
    """An order brought in from elsewhere, with its own dates; it gets no outbox event (D-27)."""

    id: ObjectId
    title: str
    description: str | None
    priority: Priority
    status: Status
    owner: ObjectId
    created_at: datetime
    steps: list[tuple[datetime, Status]] = field(default_factory=list)
    """When it moved to which status, oldest first; the last one is `status`."""


@dataclass(frozen=True, slots=True)
class OrderCreated:
    """Told after an order and its outbox event are stored."""

    order_id: ObjectId
