"""Shapes on the wire: camelCase names, strict inputs, ISO-8601 times with milliseconds (HTTP-3, WO-8)."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.alias_generators import to_camel

from app.core.clock import iso_ms

T = TypeVar("T")


class Wire(BaseModel):
    """A shape that leaves the desk: built by field name, dumped by camelCase alias, every field always there."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        frozen=True,
        json_schema_serialization_defaults_required=True,
    )


class Sparse(Wire):
    """A shape whose fields marked `?` in the contract are left out while they are null.

    `always` names the nullable fields that are told all the same.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)
    always: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_nulls(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in dump(self).items() if value is not None or key in self.always}


class Strict(BaseModel):
    """A shape that comes in: camelCase only, unknown fields refused (WO-8), no coercion between types."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, frozen=True)


Moment = Annotated[datetime, PlainSerializer(iso_ms, return_type=str)]
"""A UTC instant, on the wire as `2026-11-30T08:12:00.000Z`."""


def _normalised(value: object) -> object:
    return unicodedata.normalize("NFC", value).strip() if isinstance(value, str) else value


def _storable(value: str) -> str:
    """BSON keeps neither a lone surrogate nor, for us, a NUL (HTTP-2)."""
    if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError("Contains a character that cannot be stored (NUL or half of a surrogate pair).")
    return value


Text = Annotated[str, BeforeValidator(_normalised), AfterValidator(_storable)]
"""Text as a person means it: Unicode NFC, trimmed (D-8), storable."""


class CursorPage(Wire, Generic[T]):
    """One keyset page; `next_cursor` is null on the last."""

    items: list[T]
    next_cursor: str | None


class OffsetPage(Wire, Generic[T]):
    """One numbered page; `page` counts from 1."""

    items: list[T]
    page: int
    limit: int
    total: int
