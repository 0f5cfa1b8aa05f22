"""Believable values for the shapes of the JSON API that tell a story together."""

from __future__ import annotations

from typing import Any

_ORDER, PERSON, _OTHER = "674ad1f0c0ffee0000000a01", "674ad1f0c0ffee0000000001", "674ad1f0c0ffee0000000002"
RUN, CALL, SESSION = "674ad1f0c0ffee0000000b01", "674ad1f0c0ffee0000000c01", "674ad1f0c0ffee0000000d01"
AT, _LATER = "2026-11-30T08:12:00.000Z", "2026-11-30T08:22:00.000Z"
_CONFIRMATION = "q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1c"
_HASH = "9f2c4f5ad6f0b4c7d3a8e1b6907c52fd41e8ab33c6d07f9e25b1840a6cde7f13"

_REF = {"id": PERSON, "name": "Rosa Lind", "email": "rosa@example.com"}
_ORDER_NOW: dict[str, Any] = {
    "id": _ORDER,
    "title": "Pump leaks at the flange",
    "description": "Puddle under P-204 since Monday.",
    "priority": "low",
    "status": "pending",
    "owner": _REF,
    "version": 3,
    "createdAt": AT,
    "updatedAt": AT,
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
        "id": RUN,
        "mode": "copilot",
        "actorId": PERSON,
        "status": "complete",
        "model": "gpt-5-mini",
        "inputTokens": 1840,
        "outputTokens": 96,
        "startedAt": AT,
        "finishedAt": _LATER,
        "spentUsd": 0.0012,
    },
    "AgentToolCallPublic": _CHANGE
    | {
        "id": CALL,
        "runId": RUN,
        "tool": "update_work_order",
        "outcome": "pending",
        "latencyMs": 12,
        "createdAt": AT,
        "approval": {
            "status": "pending",
            "summary": "Priority of “Pump leaks at the flange” to high",
            "expiresAt": _LATER,
        },
    },
    "AgentMessagePublic": {
        "id": "674ad1f0c0ffee0000000e01",
        "runId": RUN,
        "role": "user",
        "content": "Raise the priority of the pump order to high",
        "createdAt": AT,
    },
    "TriageSuggestionPublic": {
        "id": "674ad1f0c0ffee0000000f01",
        "workOrderId": _ORDER,
        "runId": RUN,
        "summary": "Water on the floor of a pump room; a leak that grows.",
        "suggestedPriority": "high",
        "flagForDispatcher": True,
        "applied": False,
        "createdAt": AT,
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
        "updatedAt": AT,
    },
    "TriggerOut": {"outcome": "done", "runId": RUN},
    "OutboxEventPublic": {
        "id": "674ad1f0c0ffee0000000e02",
        "type": "work_order.created",
        "payloadRef": _ORDER,
        "status": "pending",
        "attempts": 0,
        "createdAt": AT,
    },
    "ToolCallStart": {"event": "tool_call_start", "toolCallId": CALL, "tool": "update_work_order", "args": _ARGS},
    "ToolApprovalRequired": _CHANGE
    | {
        "event": "tool_approval_required",
        "toolCallId": CALL,
        "tool": "update_work_order",
        "afterDiff": {"priority": "high"},
        "summary": "Priority of “Pump leaks at the flange” to high",
        "expiresAt": _LATER,
        "risk": "write",
        "tier": "confirm",
        "confirmationToken": _CONFIRMATION,
    },
    "ToolResult": {"event": "tool_result", "toolCallId": CALL, "outcome": "executed", "result": {"version": 4}},
    "MessageDone": {
        "event": "message_done",
        "runId": RUN,
        "content": "The priority is high now.",
        "inputTokens": 1840,
        "outputTokens": 96,
    },
    "ChatIn": {"chatId": SESSION, "message": "Raise the priority of the pump order to high"},
    "ConfirmIn": {"confirmation_token": _CONFIRMATION, "approve": True},
    "Thinking": {"content": "Reading your message."},
    "ToolCall": {"id": CALL, "tool_name": "update_work_order", "arguments": _ARGS},
    "ConfirmationRequired": {
        "endpoint": f"/work-orders/{_ORDER}",
        "method": "PATCH",
        "reason": "the copilot never changes anything unasked",
        "escalated": False,
        "timestamp": AT,
        "tool_call_id": CALL,
        "tool_name": "update_work_order",
        "risk": "write",
        "confirmation_token": _CONFIRMATION,
        "expires_at": _LATER,
        "diff": {"priority": {"before": "low", "after": "high"}},
    },
    "StatusChanged": {"status": "waiting_for_confirmation", "message": "Priority low → high"},
    "ToolAnswer": {"tool_call_id": CALL, "result": {"version": 4}, "success": True, "duration_ms": 12},
    "Message": {"content": "The priority is high now."},
    "Metrics": {
        "loop_count": 2,
        "tokens_used": 1936,
        "input_tokens": 1840,
        "output_tokens": 96,
        "tool_calls": 1,
        "uptime_seconds": 8.412,
    },
    "StreamError": {"code": "AI_UNAVAILABLE", "message": "The AI service did not answer.", "recoverable": True},
    "StreamEnd": {"reason": "complete", "had_error": False},
}
CONSOLE_RUN = {
    "Thinking": "thinking",
    "ToolCall": "tool_call",
    "ConfirmationRequired": "confirmation_required",
    "StatusChanged": "status_changed",
    "ToolAnswer": "tool_result",
    "Message": "message",
    "Metrics": "metrics",
    "StreamEnd": "stream_end",
}
"""A short run in the console's words: shape and event name."""
