"""A run's transcript as its admin page shows it: what was said and what was called, in the order it happened."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from app.runs.schemas import AgentMessagePublic, AgentToolCallPublic, RunDetail
from app.tools.proof import Proof, proof_of

_SPEAKERS = {"system": "Instructions", "user": "Input", "assistant": "Answer", "tool": "Result"}
_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person decided, when, and why."""

    status: str
    by: str | None
    at: datetime | None
    reason: str | None
    summary: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, or a call with what was asked, answered, decided and proven."""

    kind: Literal["message", "call"]
    title: str
    at: datetime
    text: str = ""
    state: str = ""
    id: str = ""
    args: str = ""
    result: str = ""
    before: str = ""
    latency_ms: int = 0
    proof: Proof | None = None
    verdict: Verdict | None = None
    hashes: tuple[tuple[str, str], ...] = ()


def entries(detail: RunDetail, names: Mapping[str, str]) -> list[Entry]:
    """Oldest first. A message that only repeats a call's result is left out."""
    called = {call.id for call in detail.tool_calls}
    said = [_message(one) for one in detail.messages if one.tool_call_id not in called]
    return sorted([*said, *(_call(call, names) for call in detail.tool_calls)], key=lambda entry: entry.at)


def shown(value: Any) -> str:
    """`value` as text, JSON indented; what has no shape of its own (controls, bidi, zero width) as its code (D-8)."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return "".join(_visible(char) for char in text[:_SHOWN])


def _visible(char: str) -> str:
    hidden = unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in "\n\t"
    return f"\\u{ord(char):04x}" if hidden else char


def _message(message: AgentMessagePublic) -> Entry:
    return Entry("message", _SPEAKERS[message.role], message.created_at, shown(message.content))


def _call(call: AgentToolCallPublic, names: Mapping[str, str]) -> Entry:
    hashes = (("Arguments shown", call.args_hash), ("Arguments run", call.executed_hash))
    return Entry(
        "call",
        call.tool,
        call.created_at,
        state=call.outcome,
        id=call.id,
        args=shown(call.args),
        result=shown(call.result),
        before=shown(call.pre_image),
        latency_ms=call.latency_ms,
        proof=proof_of(call.decision),
        verdict=_verdict(call, names),
        hashes=tuple((name, value) for name, value in hashes if value),
    )


def _verdict(call: AgentToolCallPublic, names: Mapping[str, str]) -> Verdict | None:
    if call.approval is None:
        return None
    by = call.approval.decided_by
    name = names.get(by, by) if by else None
    return Verdict(
        call.approval.status, name, call.approval.decided_at, call.approval.reason, shown(call.approval.summary)
    )
