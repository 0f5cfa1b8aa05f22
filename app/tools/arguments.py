"""What the model may say to a tool: derived from the orders' own schemas (003 §4.3, COP-4).

Version and owner never appear here: the runtime knows them. Text is normalised before it is shown (D-8).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.core.schemas import Text
from app.work_orders.schemas import SEARCH_MAX, Description, Priority, Status, Title

OrderId = Annotated[
    str, Field(pattern=r"^[0-9a-f]{24}$", description="The id of a work order, as a tool result gave it.")
]
Term = Annotated[Text, Field(min_length=1, max_length=SEARCH_MAX, description="Part of the title, any case.")]


class Arguments(BaseModel):
    """Strict: unknown fields are refused, nothing is coerced (SEC-4)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def frozen_args(self) -> dict[str, Any]:
        """What was said and nothing more, normalised: this is shown, hashed and run (D-8)."""
        return self.model_dump(mode="json", exclude_unset=True)


class NoArguments(Arguments):
    """The tool takes nothing."""


class ListArguments(Arguments):
    status: Status | None = None
    priority: Priority | None = None
    search: Term | None = None


class SearchArguments(Arguments):
    search: Term


class AdminUsersArguments(Arguments):
    search: Term | None = None
    role: Literal["admin", "user", "viewer"] | None = None


class CreateArguments(Arguments):
    title: Title
    description: Description | None = None
    priority: Priority = "medium"
    status: Status = "pending"


class UpdateArguments(Arguments):
    """`id` and at least one field to change."""

    id: OrderId
    title: Title = ""
    description: Description | None = None
    priority: Priority = "medium"
    status: Status = "pending"

    @model_validator(mode="after")
    def _changes_something(self) -> UpdateArguments:
        if self.model_fields_set <= {"id"}:
            raise ValueError("Name at least one field to change: title, description, priority or status.")
        return self


class DeleteArguments(Arguments):
    id: OrderId


@cache
def json_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON Schema for the model: no titles, no defaults that would read as orders. Made once; not to be changed."""
    schema = arguments.model_json_schema()
    cleaned = _clean(schema)
    assert isinstance(cleaned, dict)  # noqa: S101  # a schema is an object; told to the type checker
    return cleaned


def _clean(value: Any, *, is_properties: bool = False) -> Any:
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _clean(item, is_properties=key == "properties")
        for key, item in value.items()
        if is_properties or key not in ("title", "default", "description") or (key == "description" and _is_leaf(value))
    }


def _is_leaf(schema: dict[str, Any]) -> bool:
    return "properties" not in schema
