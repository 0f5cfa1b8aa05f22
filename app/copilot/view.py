"""A run as its records show it: what was read, asked, refused. Rebuilt before each step: a restart forgets nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from app.runs.models import AgentRun, AgentToolCall, Step, StepCall
from app.runs.schemas import FINAL_OUTCOMES

UNKNOWN_TOOL = "UNKNOWN_TOOL"
MALFORMED = "MALFORMED_ARGUMENTS"


@dataclass(slots=True)
class RunView:
    """`records` in the order they were made."""

    run: AgentRun
    records: list[AgentToolCall]

    def open_calls(self) -> list[StepCall]:
        """The last step's calls; empty when the model has not asked for any."""
        last = self.run.transcript[-1]
        return list(last.calls) if last.role == "assistant" else []

    def current(self, call_id: ObjectId) -> AgentToolCall | None:
        """The record of a call, or of the newest one that replaced it (D-7)."""
        by_id: dict[ObjectId | None, AgentToolCall] = {record.id: record for record in self.records}
        record = by_id.get(call_id)
        while record is not None and record.superseded_by in by_id:
            record = by_id[record.superseded_by]
        return record

    def remember(self, record: AgentToolCall) -> None:
        self.records = [known for known in self.records if known.id != record.id] + [record]

    @property
    def seen(self) -> dict[str, int]:
        """Order id → version as this run read it last (003 §4.3)."""
        merged: dict[str, int] = {}
        for record in self.records:
            merged |= record.reads
        return merged

    def cached_read(self, tool: str, args_hash: str) -> AgentToolCall | None:
        """The same read, already answered since the last executed write (D-26). In the transcript's order: times of
        different processes may differ."""
        asked = [call.id for step in self.run.transcript for call in step.calls]
        for call_id in reversed(asked):
            record = self.current(call_id)
            if record is None or record.outcome != "executed":
                continue
            if record.approval is not None:
                return None
            if record.tool == tool and record.args_hash == args_hash:
                return record
        return None

    def failures(self, code: str) -> int:
        return sum(1 for record in self.records if record.code == code)

    def rejections(self, record: AgentToolCall) -> int:
        """How often the person rejected this very proposal (003 §4.4)."""
        return sum(
            1
            for other in self.records
            if other.outcome == "rejected" and other.tool == record.tool and other.args_hash == record.args_hash
        )


def result_steps(view: RunView, calls: Sequence[StepCall], at: datetime) -> list[Step]:
    """The tool messages that answer `calls`. Every call has its answer, so the transcript stays valid (2.2)."""
    steps = []
    for call in calls:
        record = view.current(call.id)
        if record is None or record.outcome not in FINAL_OUTCOMES:
            raise ValueError("a call without a final record has no answer yet")
        steps.append(Step(role="tool", content=result_text(record), result_of=call.id, at=at))
    return steps


def result_text(record: AgentToolCall) -> str:
    """What the model reads as the result of a call."""
    if record.outcome == "executed" and isinstance(record.result, str):
        return record.result
    body = {"outcome": record.outcome, "result": record.result}
    return json.dumps(body, ensure_ascii=False, default=str)
