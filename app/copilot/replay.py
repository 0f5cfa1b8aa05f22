"""A run's events told again from MongoDB, where its stream is gone (D-2)."""

from __future__ import annotations

from app.copilot.endings import last_event
from app.copilot.events import RunEvent, Token
from app.copilot.telling import events_of
from app.runs.models import AgentRun, AgentToolCall


def replay(run: AgentRun, calls: list[AgentToolCall]) -> list[RunEvent]:
    """Step by step: what was said, what was called, what came of it, and the end if it has ended."""
    by_id = {call.id: call for call in calls}
    told: list[RunEvent] = []
    content = ""
    for step in run.transcript:
        if step.role != "assistant":
            continue
        content = step.content
        if step.content:
            told.append(Token(content=step.content))
        for asked in step.calls:
            record = by_id.get(asked.id)
            while record is not None:
                told.extend(events_of(record))
                record = by_id.get(record.superseded_by) if record.superseded_by else None
    if run.status != "running":
        told.append(last_event(run, run.error_code, content))  # type: ignore[arg-type]  # the codes we store
    return told
