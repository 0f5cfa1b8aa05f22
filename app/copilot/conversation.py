"""A session's past as the drawer and the run page show it: bubbles, cards, proposals, in order (COP-8, COP-10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bson import ObjectId

from app.accounts.people import Person
from app.copilot.approvals import Approvals
from app.copilot.cards import ApprovalView, ToolCard, approval_view, tool_card
from app.copilot.endings import WORDS
from app.copilot.markdown import rendered
from app.copilot.view import RunView
from app.copilot.wire_html import Message, RunState
from app.core.clock import Clock
from app.runs.models import AgentRun, AgentToolCall
from app.runs.service import RunService

_TURNS_SHOWN = 25
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the conversation; the part that `kind` names is set."""

    kind: Literal["user", "assistant", "tool", "approval"]
    message: Message | None = None
    call: ToolCard | None = None
    approval: ApprovalView | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the drawer shows of a session, and where its last run stands."""

    entries: list[Entry]
    run: RunState


class Conversations:
    """Builds conversations from the record."""

    def __init__(self, runs: RunService, approvals: Approvals, clock: Clock) -> None:
        self._runs = runs
        self._approvals = approvals
        self._clock = clock

    async def of_session(self, session_id: ObjectId, person: Person) -> Conversation:
        """The newest turns, oldest first. A working run shows its question only: its stream tells the rest."""
        turns = list(reversed(await self._runs.of_session(session_id, _TURNS_SHOWN)))
        calls = await self._runs.calls_of([turn.id for turn in turns])
        entries = [entry for turn in turns for entry in self._entries(turn, calls, person)]
        return Conversation(entries, _state(turns[-1], calls) if turns else RunState("", "idle"))

    async def of_run(self, run: AgentRun, person: Person) -> list[Entry]:
        """Everything of one run, also while it works."""
        calls = await self._runs.calls_of([run.id])
        return self._entries(run, calls, person, whole=True)

    def _entries(
        self, run: AgentRun, calls: Sequence[AgentToolCall], person: Person, *, whole: bool = False
    ) -> list[Entry]:
        view = RunView(run, [call for call in calls if call.run_id == run.id])
        entries: list[Entry] = []
        for place, step in enumerate(run.transcript):
            if step.role == "user":
                entries.append(Entry("user", Message(f"{run.id}-u{place}", text=step.content)))
            if step.role != "assistant" or (run.status == "running" and not whole):
                continue
            if step.content.strip():
                entries.append(Entry("assistant", Message(f"{run.id}-s{place}", rendered(step.content))))
            entries.extend(self._call(record, person) for asked in step.calls if (record := view.current(asked.id)))
        if run.status != "running" or whole:
            entries.extend(Entry("tool", call=tool_card(call)) for call in view.records if call.review_id is not None)
        if run.status not in ("running", "complete"):
            entries.append(Entry("assistant", _failed(run)))
        return entries

    def _call(self, record: AgentToolCall, person: Person) -> Entry:
        if record.outcome != "pending":
            return Entry("tool", call=tool_card(record))
        view = approval_view(record, person.name, self._clock.now(), self._approvals.token(record))
        return Entry("approval", approval=view)


def title_of(run: AgentRun) -> str:
    """What the person asked, as the run's title; triage runs say what they are."""
    asked = next((step.content for step in run.transcript if step.role == "user"), "")
    if run.mode == "autonomous" or not asked:
        return "Triage of a new work order" if run.mode == "autonomous" else "A conversation turn"
    return " ".join(asked.split())[:_TITLE_CHARS]


def _state(run: AgentRun, calls: Sequence[AgentToolCall]) -> RunState:
    if run.status != "running":
        return RunState("", "idle")
    waits = any(call.run_id == run.id and call.outcome == "pending" for call in calls)
    return RunState(str(run.id), "waiting" if waits else "running")


def _failed(run: AgentRun) -> Message:
    code = run.error_code if run.error_code in WORDS else "INTERNAL"
    retry = run.transcript[0].content if run.transcript else None
    return Message(f"{run.id}-end", error=WORDS[code], retry_text=retry)
