"""Calls as people see them: the tool card, and the approval that answers what, where, from what to what (COP-7)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from markupsafe import Markup

from app.copilot.approvals import MAX_EXTENSIONS
from app.copilot.diff import visible, word_diff
from app.core.unseen import revealed
from app.runs.models import AgentToolCall
from app.tools.words import value_word
from app.work_orders.schemas import FIELDS

Kind = Literal["create", "update", "delete"]

_KINDS: dict[str, Kind] = {
    "create_work_order": "create",
    "update_work_order": "update",
    "delete_work_order": "delete",
}
_QUESTIONS: dict[Kind, str] = {
    "create": "Create this work order?",
    "update": "Change this work order?",
    "delete": "Delete this work order?",
}
_APPROVE: dict[Kind, str] = {
    "create": "Create work order",
    "update": "Approve change",
    "delete": "Approve deletion",
}
_READ_TITLES = {
    "list_my_work_orders": "Looked through your work orders",
    "search_my_work_orders": "Searched your work orders",
    "get_profile": "Looked at your profile",
    "admin_list_work_orders": "Looked through everyone’s work orders",
    "admin_list_users": "Looked through the people of this desk",
    "admin_metrics": "Counted people and work orders",
}
_LABELS = {"title": "Title", "description": "Description", "priority": "Priority", "status": "Status"}
_RESULT_SHOWN = 4_000


@dataclass(frozen=True, slots=True)
class Link:
    href: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One call in the conversation."""

    id: str
    tool: str
    title: str
    found: str
    state: str
    args_text: str
    result_text: str
    link: Link | None
    can_undo: bool
    is_write: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One field of the comparison; the HTML is safe."""

    label: str
    before_html: Markup | None
    after_html: Markup | None
    state: Literal["changed", "same", "added", "removed"]


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """A staged call, for its card and its modal."""

    id: str
    tool: str
    kind: Kind
    question: str
    subject: str
    proposed_for: str
    rows: list[Row]
    summary: str
    expires_in_ms: int
    approve_label: str
    risk: str
    risk_level: int
    tier: str
    args_text: str
    staged_version: int | None
    args_hash: str
    can_extend: bool
    state: str
    confirmation_token: str


def kind_of(call: AgentToolCall) -> Kind | None:
    return _KINDS.get(call.tool)


def tool_card(call: AgentToolCall) -> ToolCard:
    kind = kind_of(call)
    return ToolCard(
        id=str(call.id),
        tool=call.tool,
        title=_title(call, kind),
        found=_found(call),
        state=call.outcome,
        args_text=_pretty(call.args),
        result_text=_result_text(call),
        link=_link(call, kind),
        can_undo=kind is not None and call.outcome == "executed" and call.undone_at is None,
        is_write=kind is not None,
    )


def running_card(call_id: str, tool: str, args: dict[str, Any] | None) -> ToolCard:
    """A call that was just asked for."""
    title = _READ_TITLES.get(tool, "Drafting a change" if tool in _KINDS else "Uses a tool")
    return ToolCard(call_id, tool, title, "", "running", _pretty(args), "", None, False, tool in _KINDS)


def approval_view(call: AgentToolCall, person_name: str, now: datetime, token: str) -> ApprovalView:
    """`expires_in_ms` is counted here, by the server's clock (D-6)."""
    kind = kind_of(call) or "update"
    approval, decision = call.approval, call.decision or {}
    left = (approval.expires_at - now).total_seconds() * 1000 if approval else 0
    return ApprovalView(
        id=str(call.id),
        tool=call.tool,
        kind=kind,
        question=_QUESTIONS[kind],
        subject=subject_of(call),
        proposed_for=person_name,
        rows=_rows(call, kind),
        summary=approval.summary if approval else "",
        expires_in_ms=max(0, round(left)),
        approve_label=_APPROVE[kind],
        risk=decision.get("risk", "unknown"),
        risk_level=decision.get("riskLevel", 2),
        tier=decision.get("tier", "confirm"),
        args_text=_pretty(call.args),
        staged_version=call.staged_version,
        args_hash=call.args_hash or "",
        can_extend=approval is not None and approval.extensions < MAX_EXTENSIONS,
        state=call.outcome if left > 0 or call.outcome != "pending" else "expired",
        confirmation_token=token,
    )


def subject_of(call: AgentToolCall) -> str:
    """The title of the order that a call is about."""
    title = (call.pre_image or {}).get("title") or (call.args or {}).get("title")
    return revealed(str(title)) if title else "a work order"


def _rows(call: AgentToolCall, kind: Kind) -> list[Row]:
    before, after = call.pre_image or {}, call.after_diff or {}
    if kind == "create":
        return [Row(_LABELS[name], None, _word(after.get(name)), "added") for name in FIELDS if name in after]
    if kind == "delete":
        return [Row(_LABELS[name], _word(before.get(name)), None, "removed") for name in FIELDS]
    changed = [_changed(name, before.get(name), after[name]) for name in FIELDS if name in after]
    same = [Row(_LABELS[n], _word(before.get(n)), None, "same") for n in FIELDS if n not in after]
    return changed + same


def _changed(name: str, before: object, after: object) -> Row:
    old, new = word_diff(_text(before), _text(after))
    return Row(_LABELS[name], old if _text(before) else None, new if _text(after) else None, "changed")


def _text(value: object) -> str:
    return "" if value is None or value == "" else value_word(value)


def _word(value: object) -> Markup | None:
    return visible(_text(value)) if _text(value) else None


def _title(call: AgentToolCall, kind: Kind | None) -> str:
    if kind is None:
        return _READ_TITLES.get(call.tool, "Tried a tool that is not there")
    words = {"create": "New work order", "update": "Change", "delete": "Deletion"}
    return f"{words[kind]}: {subject_of(call)}" if call.args else f"{words[kind]} of a work order"


def _found(call: AgentToolCall) -> str:
    if call.outcome != "executed" or not isinstance(call.result, str):
        return ""
    try:
        value = json.loads(call.result)
    except ValueError:
        return ""
    return f"{len(value)} found" if isinstance(value, list) else ""


def _link(call: AgentToolCall, kind: Kind | None) -> Link | None:
    if kind is None or call.outcome != "executed" or call.target_id is None or kind == "delete":
        return None
    return Link(f"/app/work-orders/{call.target_id}", "Open the work order")


def _result_text(call: AgentToolCall) -> str:
    if call.result is None:
        return ""
    if isinstance(call.result, dict) and "message" in call.result:
        return revealed(str(call.result["message"]))
    return revealed((call.result if isinstance(call.result, str) else _pretty(call.result))[:_RESULT_SHOWN])


def _pretty(value: Any) -> str:
    if value is None:
        return ""
    return revealed(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str))
