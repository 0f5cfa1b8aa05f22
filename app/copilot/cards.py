"""Calls as people see them: the tool card, and the approval that answers what, where, from what to what (COP-7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.copilot.approvals import MAX_EXTENSIONS
from app.copilot.card_rows import Row, rows_of
from app.copilot.card_words import (
    APPROVE,
    DESK_WRITES,
    Kind,
    kind_of,
    note_of,
    pretty,
    question_of,
    running_title,
    state_of,
    subject_of,
    title_of,
    waits_for_review,
)
from app.core.unseen import revealed
from app.runs.models import AgentToolCall
from app.tools.proof import Proof, proof_of

_RESULT_SHOWN = 4_000


@dataclass(frozen=True, slots=True)
class Link:
    href: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One call in the conversation. `word` says how it ended, `proof` why it ran or not (T-13)."""

    id: str
    tool: str
    title: str
    word: str
    state: str
    args_text: str
    result_text: str
    link: Link | None
    can_undo: bool
    is_write: bool
    proof: Proof | None = None


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
    note: str
    proof: Proof | None
    args_text: str
    staged_version: int | None
    args_hash: str
    can_extend: bool
    state: str
    confirmation_token: str


def tool_card(call: AgentToolCall) -> ToolCard:
    kind = kind_of(call.tool)
    return ToolCard(
        id=str(call.id),
        tool=call.tool,
        title=title_of(call),
        word=state_of(call),
        state=call.outcome,
        args_text=pretty(call.args),
        result_text=_result_text(call),
        link=_link(call, kind),
        can_undo=kind in DESK_WRITES and call.outcome == "executed" and call.undone_at is None,
        is_write=kind in DESK_WRITES or call.approval is not None,
        proof=proof_of(call.decision),
    )


def running_card(call_id: str, tool: str, args: dict[str, Any] | None) -> ToolCard:
    """A call that was just asked for."""
    is_write = kind_of(tool) in DESK_WRITES
    return ToolCard(call_id, tool, running_title(tool), "Running…", "running", pretty(args), "", None, False, is_write)


def approval_view(call: AgentToolCall, person_name: str, now: datetime, token: str) -> ApprovalView:
    """`expires_in_ms` is counted here, by the server's clock (D-6)."""
    kind, approval = kind_of(call.tool), call.approval
    left = (approval.expires_at - now).total_seconds() * 1000 if approval else 0
    return ApprovalView(
        id=str(call.id),
        tool=call.tool,
        kind=kind,
        question=question_of(kind, call.decision or {}),
        subject=subject_of(call),
        proposed_for=person_name,
        rows=rows_of(call),
        summary=approval.summary if approval else "",
        expires_in_ms=max(0, round(left)),
        approve_label=APPROVE[kind],
        note=note_of(kind, call),
        proof=proof_of(call.decision),
        args_text=pretty(call.args),
        staged_version=call.staged_version,
        args_hash=call.args_hash or "",
        can_extend=approval is not None and approval.extensions < MAX_EXTENSIONS,
        state=call.outcome if left > 0 or call.outcome != "pending" else "expired",
        confirmation_token=token,
    )


def _link(call: AgentToolCall, kind: Kind) -> Link | None:
    if waits_for_review(call):
        return Link("/app/approvals", "See what becomes of it")
    if kind not in DESK_WRITES or call.outcome != "executed" or call.target_id is None or kind == "delete":
        return None
    return Link(f"/app/work-orders/{call.target_id}", "Open the work order")


def _result_text(call: AgentToolCall) -> str:
    if call.result is None:
        return ""
    if isinstance(call.result, dict) and "message" in call.result:
        return revealed(str(call.result["message"]))
    if isinstance(call.result, str):
        return revealed(call.result[:_RESULT_SHOWN])
    return pretty(call.result)[:_RESULT_SHOWN]
