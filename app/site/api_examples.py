"""Believable values for the shapes of the JSON API: by shape where it tells a story, else by field name."""

from __future__ import annotations

import json
from typing import Any

_ORDER, _PERSON, _OTHER = "674ad1f0c0ffee0000000a01", "674ad1f0c0ffee0000000001", "674ad1f0c0ffee0000000002"
_RUN, _CALL, _SESSION = "674ad1f0c0ffee0000000b01", "674ad1f0c0ffee0000000c01", "674ad1f0c0ffee0000000d01"
_AT, _LATER = "2026-11-30T08:12:00.000Z", "2026-11-30T08:22:00.000Z"
_HASH = "9f2c4f5ad6f0b4c7d3a8e1b6907c52fd41e8ab33c6d07f9e25b1840a6cde7f13"

_REF = {"id": _PERSON, "name": "Rosa Lind", "email": "rosa@example.com"}
_ORDER_NOW: dict[str, Any] = {
    "id": _ORDER,
    "title": "Pump leaks at the flange",
    "description": "Puddle under P-204 since Monday.",
    "priority": "low",
    "status": "pending",
    "owner": _REF,
    "version": 3,
    "createdAt": _AT,
    "updatedAt": _AT,
}
_ARGS = {"id": _ORDER, "priority": "high"}
_CHANGE: dict[str, Any] = {
    "args": _ARGS,
    "stagedVersion": 3,
    "preImage": _ORDER_NOW,
    "argsHash": _HASH,
}

SHAPES: dict[str, Any] = {
    "PersonRef": _REF,
    "WorkOrderPublic": _ORDER_NOW,
    "WorkOrderCreate": {"title": "Pump leaks at the flange", "priority": "high"},
    "WorkOrderUpdate": {"version": 3, "priority": "high"},
    "WorkOrderDelete": {"version": 3},
    "ProfileChange": {"name": "Rosa Lind"},
    "PolicyChange": {"mode": "suggest", "dailyActionCap": 200},
    "MessageIn": {"content": "Raise the priority of the pump order to high", "workOrderId": _ORDER},
    "Decision": {"approve": True},
    "TriggerIn": {"workOrderId": _ORDER},
    "AgentRunPublic": {
        "id": _RUN,
        "mode": "copilot",
        "actorId": _PERSON,
        "status": "complete",
        "model": "gpt-5-mini",
        "inputTokens": 1840,
        "outputTokens": 96,
        "startedAt": _AT,
        "finishedAt": _LATER,
        "spentUsd": 0.0012,
    },
    "AgentToolCallPublic": _CHANGE
    | {
        "id": _CALL,
        "runId": _RUN,
        "tool": "update_work_order",
        "outcome": "pending",
        "latencyMs": 12,
        "createdAt": _AT,
        "approval": {
            "status": "pending",
            "summary": "Priority of “Pump leaks at the flange” to high",
            "expiresAt": _LATER,
        },
    },
    "AgentMessagePublic": {
        "id": "674ad1f0c0ffee0000000e01",
        "runId": _RUN,
        "role": "user",
        "content": "Raise the priority of the pump order to high",
        "createdAt": _AT,
    },
    "TriageSuggestionPublic": {
        "id": "674ad1f0c0ffee0000000f01",
        "workOrderId": _ORDER,
        "runId": _RUN,
        "summary": "Water on the floor of a pump room; a leak that grows.",
        "suggestedPriority": "high",
        "flagForDispatcher": True,
        "applied": False,
        "createdAt": _AT,
    },
    "AgentConfigPublic": {
        "name": "triage",
        "enabled": True,
        "copilotEnabled": True,
        "mode": "suggest",
        "allowedFields": ["priority"],
        "dailyActionCap": 200,
        "flagThreshold": "high",
        "workingHours": "*",
        "applyDirection": "both",
        "switchedAt": None,
        "switchedBy": None,
        "updatedBy": _OTHER,
        "updatedAt": _AT,
    },
    "TriggerOut": {"outcome": "done", "runId": _RUN},
    "OutboxEventPublic": {
        "id": "674ad1f0c0ffee0000000e02",
        "type": "work_order.created",
        "payloadRef": _ORDER,
        "status": "pending",
        "attempts": 0,
        "createdAt": _AT,
    },
    "ToolCallStart": {"event": "tool_call_start", "toolCallId": _CALL, "tool": "update_work_order", "args": _ARGS},
    "ToolApprovalRequired": _CHANGE
    | {
        "event": "tool_approval_required",
        "toolCallId": _CALL,
        "tool": "update_work_order",
        "afterDiff": {"priority": "high"},
        "summary": "Priority of “Pump leaks at the flange” to high",
        "expiresAt": _LATER,
        "risk": "write",
        "tier": "confirm",
        "confirmationToken": "q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1c",
    },
    "ToolResult": {"event": "tool_result", "toolCallId": _CALL, "outcome": "executed", "result": {"version": 4}},
    "MessageDone": {
        "event": "message_done",
        "runId": _RUN,
        "content": "The priority is high now.",
        "inputTokens": 1840,
        "outputTokens": 96,
    },
}
_NAMES: dict[str, Any] = {
    "id": _PERSON,
    "userId": _PERSON,
    "runId": _RUN,
    "toolCallId": _CALL,
    "sessionId": _SESSION,
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
            return _AT
        if "properties" in schema:
            return {field: self.of(inner, field) for field, inner in schema["properties"].items()}
        if schema.get("type") == "array":
            return [self.of(schema["items"], name)]
        return schema.get("default", _TYPES.get(schema.get("type", "string")))


def stream(examples: Examples) -> str:
    """A short run as `text/event-stream`."""
    told = ["ToolCallStart", "ToolApprovalRequired", "ToolResult", "Token", "MessageDone"]
    lines = []
    for number, shape in enumerate(told):
        data = examples.of({"$ref": f"#/components/schemas/{shape}"})
        lines.append(f"event: {data['event']}\nid: 1764490320{number:03d}-0\ndata: {json.dumps(data)}\n\n")
    return "".join(lines)
