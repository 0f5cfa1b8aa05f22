"""The shapes of the JSON API as JSON Schema, from Pydantic: what is dumped for answers, what is accepted for bodies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema
from pydantic_core import core_schema

from app.copilot import events
from app.core.schemas import Moment, Wire

Shapes = dict[type[BaseModel], dict[str, Any]]
"""Each shape and the reference that stands for it."""


class ToolApprovalRequired(events.ToolApprovalRequired):
    """What the person is asked, with the token that only the owner's stream carries (T-12)."""

    confirmation_token: str


class Ping(Wire):
    """Keeps the connection awake; it has no id."""

    event: Literal["ping"] = "ping"
    ts: Moment


_TOLD: tuple[type[BaseModel], ...] = get_args(get_args(events.RunEvent)[0])
WIRE_EVENTS: tuple[type[BaseModel], ...] = (
    *(ToolApprovalRequired if told is events.ToolApprovalRequired else told for told in _TOLD),
    Ping,
)
"""The closed set of a stream's events (D-23)."""


class _AsDumped(GenerateJsonSchema):
    """Without the functions that dump: they drop nulls and cut times to milliseconds, which no schema can tell."""

    def ser_schema(
        self, schema: core_schema.SerSchema | core_schema.IncExSeqSerSchema | core_schema.IncExDictSerSchema
    ) -> None:
        return None


def shapes(
    bodies: Iterable[type[BaseModel]], answers: Iterable[type[BaseModel]]
) -> tuple[Shapes, Shapes, dict[str, Any]]:
    """References for `bodies` and for `answers`, and the components that they point at."""
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [(body, "validation") for body in bodies]
    wanted += [(answer, "serialization") for answer in (*answers, *WIRE_EVENTS)]
    found, definitions = models_json_schema(
        wanted, ref_template="#/components/schemas/{model}", schema_generator=_AsDumped
    )
    components = cast("dict[str, Any]", definitions["$defs"])
    said = {model: schema for (model, mode), schema in found.items() if mode == "serialization"}
    told = {event.model_fields["event"].default: said[event] for event in WIRE_EVENTS}
    components["RunEvent"] = {
        "title": "RunEvent",
        "description": "The data of one server-sent event. The last one of a run is `message_done` or `error`.",
        "oneOf": list(told.values()),
        "discriminator": {"propertyName": "event", "mapping": {name: ref["$ref"] for name, ref in told.items()}},
    }
    return {model: schema for (model, mode), schema in found.items() if mode == "validation"}, said, components
