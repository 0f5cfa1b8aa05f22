"""An example of any shape of the JSON API: by shape where it tells a story, else by field name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from app.site.api_samples import AT, CALL, CONSOLE_RUN, PERSON, RUN, SESSION, SHAPES

_NAMES: dict[str, Any] = {
    "id": PERSON,
    "userId": PERSON,
    "runId": RUN,
    "toolCallId": CALL,
    "sessionId": SESSION,
    "email": "rosa@example.com",
    "name": "Rosa Lind",
    "password": "Flange2026",
    "currentPassword": "Flange2026",
    "newPassword": "Gasket2027",
    "token": "Zm9yIHRoZSBtYWlsIG9ubHksIG9uY2UsIG9uZSBob3Vy",
    "nextCursor": "eyJ0IjoxNzY0NDkwMzIwfQ.c2lnbmVk",
    "content": "The pump order is ",
    "code": "AI_UNAVAILABLE",
    "requestId": "b7d1c1f6-6e0c-4a53-9a44-0d5b1f4f0c11",
    "users": 12,
    "workOrders": 348,
    "uptimeSeconds": 86400,
}
_TYPES: dict[str, Any] = {"integer": 1, "number": 1.0, "boolean": True, "string": "text", "object": {}, "null": None}


class Examples:
    """Makes an example of any schema whose references lead into `components`."""

    def __init__(self, components: dict[str, Any]) -> None:
        self._components = components

    def of(self, schema: dict[str, Any], name: str = "") -> Any:
        """A value that fits `schema`, which stands at the field `name`."""
        if ref := schema.get("$ref"):
            shape = ref.rsplit("/", 1)[1]
            return SHAPES[shape] if shape in SHAPES else self.of(self._components[shape], name)
        if "const" in schema:
            return schema["const"]
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return self.of(next((choice for choice in choices if choice.get("type") != "null"), choices[0]), name)
        return self._plain(schema, name)

    def _plain(self, schema: dict[str, Any], name: str) -> Any:
        if "enum" in schema:
            return schema["enum"][0]
        if name in _NAMES:
            return _NAMES[name]
        if schema.get("format") == "date-time":
            return AT
        if "properties" in schema:
            return {field: self.of(inner, field) for field, inner in schema["properties"].items()}
        if schema.get("type") == "array":
            return [self.of(schema["items"], name)]
        return schema.get("default", _TYPES.get(schema.get("type", "string")))


def stream(examples: Examples, events: str) -> str:
    """A short run as `text/event-stream`, in the dialect whose data is `events`."""
    if events == "ConsoleEvent":
        return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in _console_run())
    told = ["ToolCallStart", "ToolApprovalRequired", "ToolResult", "Token", "MessageDone"]
    lines = []
    for number, shape in enumerate(told):
        data = examples.of({"$ref": f"#/components/schemas/{shape}"})
        lines.append(f"event: {data['event']}\nid: 1764490320{number:03d}-0\ndata: {json.dumps(data)}\n\n")
    return "".join(lines)


def _console_run() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "status_changed", {"status": "running", "chat_id": SESSION}
    for shape, name in CONSOLE_RUN.items():
        yield name, SHAPES[shape]
