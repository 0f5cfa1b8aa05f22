"""A proposal as the console asks about it: as the call of an endpoint, with its reason and its diff (T-14)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.copilot.console_events import ConfirmationRequired
from app.runs.models import AgentToolCall

REQUEST_TOOL = "request"
_ORDER_ENDPOINTS = {
    "create_work_order": ("POST", "/work-orders"),
    "update_work_order": ("PATCH", "/work-orders/{id}"),
    "delete_work_order": ("DELETE", "/work-orders/{id}"),
}
_ESCALATIONS = frozenset({"T-6", "T-7"})


def question(call: AgentToolCall, expires_at: datetime, token: str) -> ConfirmationRequired:
    """What the person is asked about a staged call, from its frozen record. `token` answers it."""
    decision = call.decision or {}
    method, endpoint = _endpoint(call)
    return ConfirmationRequired(
        endpoint=endpoint,
        method=method,
        reason=_reason(decision),
        escalated=any(rule["id"] in _ESCALATIONS for rule in _deciding(decision)),
        timestamp=call.created_at,
        tool_call_id=str(call.id),
        tool_name=call.tool,
        risk=decision.get("risk", "unknown"),
        confirmation_token=token,
        expires_at=expires_at,
        diff=_diff(call),
    )


def _endpoint(call: AgentToolCall) -> tuple[str, str]:
    """Method and address of what would be called; `CALL` and the tool's name where it is none."""
    args = call.args or {}
    if call.tool == REQUEST_TOOL:
        return str(args.get("method", "")), f"{args.get('connection', '')} {args.get('path', '')}"
    method, endpoint = _ORDER_ENDPOINTS.get(call.tool, ("CALL", call.tool))
    return method, endpoint.replace("{id}", str(call.target_id))


def _deciding(decision: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules that put the call on its tier."""
    return [rule for rule in decision.get("rules", ()) if rule["tier"] == decision.get("tier")]


def _reason(decision: dict[str, Any]) -> str:
    return decision.get("prompt") or "; ".join(rule["reason"] for rule in _deciding(decision))


def _diff(call: AgentToolCall) -> dict[str, Any]:
    before = call.pre_image or {}
    return {name: {"before": before.get(name), "after": after} for name, after in (call.after_diff or {}).items()}
