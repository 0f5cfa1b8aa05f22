"""A call's record as events. Telling again is harmless: the log refuses what it has (D-2, D-23)."""

from __future__ import annotations

from app.copilot.events import EventLog, RunEvent, ToolApprovalRequired, ToolCallStart, ToolResult
from app.runs.models import AgentToolCall
from app.runs.schemas import FINAL_OUTCOMES


def start_of(call: AgentToolCall) -> ToolCallStart:
    return ToolCallStart(tool_call_id=str(call.id), tool=call.tool, args=call.args)


def approval_of(call: AgentToolCall) -> ToolApprovalRequired:
    """What the person is asked, from the frozen record alone (D-8)."""
    if call.approval is None or call.decision is None:
        raise ValueError("only a staged call is asked about")
    return ToolApprovalRequired(
        tool_call_id=str(call.id),
        tool=call.tool,
        args=call.args or {},
        staged_version=call.staged_version,
        pre_image=call.pre_image,
        after_diff=call.after_diff or {},
        summary=call.approval.summary,
        expires_at=call.approval.expires_at,
        risk=call.decision["risk"],
        tier=call.decision["tier"],
        args_hash=call.args_hash or "",
    )


def result_of(call: AgentToolCall) -> ToolResult:
    return ToolResult(tool_call_id=str(call.id), outcome=call.outcome, result=call.result)


def events_of(call: AgentToolCall) -> list[RunEvent]:
    """Everything there is to tell of `call` so far, in order. Without a nonce, another call's approval let it run."""
    told: list[RunEvent] = [start_of(call)]
    if call.approval is not None and call.approval.nonce and call.outcome in ("pending", "approved"):
        told.append(approval_of(call))
    if call.outcome in FINAL_OUTCOMES:
        told.append(result_of(call))
    return told


async def tell(events: EventLog, call: AgentToolCall) -> None:
    """Not what a dispatcher released: the run that asked for it has told its last event, and nothing follows it."""
    if call.review_id is not None:
        return
    for event in events_of(call):
        await events.append(call.run_id, event)
