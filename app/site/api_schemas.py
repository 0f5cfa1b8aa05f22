"""The shapes of the JSON API as JSON Schema, from Pydantic: what is dumped for answers, what is accepted for bodies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from app.copilot import events
from app.copilot.console_events import CONSOLE_EVENTS
from app.core.schemas import Moment, Wire

Shapes = dict[type[BaseModel], dict[str, Any]]
"""Each shape and the reference that stands for it."""

_IN: JsonSchemaMode = "validation"
_OUT: JsonSchemaMode = "serialization"


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

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the name says as much
        return False

    def ser_schema(self, schema: Any) -> None:  # noqa: ARG002 - none of them is told
        return None

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """An empty text stands in for what was not given; it is not a value that one could give."""
        told = super().default_schema(schema)
        return {name: value for name, value in told.items() if (name, value) != ("default", "")}


def shapes(
    bodies: Iterable[type[BaseModel]], answers: Iterable[type[BaseModel]]
) -> tuple[Shapes, Shapes, dict[str, Any]]:
    """References for `bodies` and for `answers`, and the components that they point at."""
    asked = [(body, _IN) for body in bodies]
    asked += [(answer, _OUT) for answer in (*answers, *WIRE_EVENTS, *CONSOLE_EVENTS)]
    found, definitions = models_json_schema(
        asked, ref_template="#/components/schemas/{model}", schema_generator=_AsDumped
    )
    components = cast("dict[str, Any]", definitions["$defs"])
    taken: Shapes = {shape: found[shape, mode] for shape, mode in asked if mode == _IN}
    said: Shapes = {shape: found[shape, mode] for shape, mode in asked if mode == _OUT}
    told = {event.model_fields["event"].default: said[event] for event in WIRE_EVENTS}
    components["RunEvent"] = {
        "title": "RunEvent",
        "description": "The data of one server-sent event. The last one of a run is `message_done` or `error`.",
        "oneOf": list(told.values()),
        "discriminator": {"propertyName": "event", "mapping": {name: ref["$ref"] for name, ref in told.items()}},
    }
    components["ConsoleEvent"] = {
        "title": "ConsoleEvent",
        "description": "The data of one event of a console's stream, by the name on its `event:` line. "
        "The last one is always `stream_end`.",
        "anyOf": [said[event] for event in CONSOLE_EVENTS],
        "x-event-names": {event.name: said[event]["$ref"] for event in CONSOLE_EVENTS},
    }
    return taken, said, components
