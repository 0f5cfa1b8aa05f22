"""The audit trail in words: who did what to the agents and their tools, and what it changed (SEC-13, D-20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.governance.schemas import AuditRowPublic

_VIEW = "transcript.view"
_ACTIONS = {
    "config.update": "changed the policy",
    "config.disable": "switched off",
    "config.enable": "switched on",
    _VIEW: "looked at a transcript",
    "tools.raise": "raised the tier of a tool",
    "tools.run": "ran a tool from the operator’s page",
    "review.run": "let a reviewed request run",
    "review.refuse": "refused a reviewed request",
}
_FIELDS = {
    "enabled": "Triage",
    "copilotEnabled": "Copilot",
    "mode": "Mode",
    "allowedFields": "May write",
    "dailyActionCap": "Calls a day",
    "flagThreshold": "Flags from",
    "workingHours": "Working hours",
    "applyDirection": "Direction",
}


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One audit row in words; `changes` are (field, before, after), `tool` is the one that it is about."""

    seq: int | None
    who: str
    did: str
    looked: bool
    tool: str | None
    run_id: str | None
    changes: list[tuple[str, str, str]]
    at: datetime


def audit_line(row: AuditRowPublic, names: Mapping[str, str]) -> AuditLine:
    """`names` are people's, by id."""
    before, after = row.before or {}, row.after or {}
    changed = [name for name in _FIELDS if name in after and before.get(name) != after[name]]
    return AuditLine(
        seq=row.seq,
        who=names.get(row.actor_id, "A former member"),
        did=_ACTIONS.get(row.action, row.action),
        looked=row.action == _VIEW,
        tool=after.get("tool") or before.get("tool"),
        run_id=after.get("runId"),
        changes=[
            *((_FIELDS[name], _word(before.get(name)), _word(after[name])) for name in changed),
            *_raised(before.get("raisedTiers", []), after.get("raisedTiers", [])),
        ],
        at=row.created_at,
    )


def _raised(before: list[dict[str, str]], after: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    """Each tool whose raised tier changed."""
    known = {raised["name"]: raised["tier"] for raised in before}
    changed = [raised for raised in after if known.get(raised["name"]) != raised["tier"]]
    return [(raised["name"], known.get(raised["name"], "as its rules say"), raised["tier"]) for raised in changed]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return "not set" if value is None else str(value)
