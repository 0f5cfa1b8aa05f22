"""The triage policy on the wire, and what of it may be changed (AGT-3, D-30)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from app.core.schemas import Moment, OffsetPage, Sparse, Strict, Wire
from app.core.weekly_hours import parse_hours

TriageMode = Literal["suggest", "auto-apply"]
Threshold = Literal["low", "medium", "high"]
Direction = Literal["both", "raise"]
SwitchScope = Literal["triage", "all"]
WaitReason = Literal["switched_off", "working_hours", "daily_actions", "agent_budget", "desk_budget"]

WAIT_REASONS: tuple[WaitReason, ...] = (
    "switched_off",
    "working_hours",
    "daily_actions",
    "agent_budget",
    "desk_budget",
)
WAIT_WORDS: dict[str, str] = {
    "switched_off": "Triage is switched off; this waits.",
    "working_hours": "Waits for triage's working hours.",
    "daily_actions": "Triage has used up today's calls; this waits for tomorrow (UTC).",
    "agent_budget": "Triage has used up today's budget; this waits for tomorrow (UTC).",
    "desk_budget": "The desk has used up today's AI budget; this waits for tomorrow (UTC).",
}


@dataclass(frozen=True, slots=True)
class Wait:
    """Why triage does not work now, and when to look again (D-11)."""

    reason: WaitReason
    until: datetime


def _hours(text: str) -> str:
    parse_hours(text)
    return text


Hours = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_hours)]


class PolicyChange(Strict):
    """Any subset of the policy, at least one field; `enabled` is the kill switch's alone (D-30)."""

    mode: TriageMode | None = None
    allowed_fields: Annotated[list[Literal["priority"]], Field(max_length=1)] | None = None
    daily_action_cap: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    flag_threshold: Threshold | None = None
    working_hours: Hours | None = None
    apply_direction: Direction | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("Give at least one field to change.")
        if any(getattr(self, name) is None for name in self.model_fields_set):
            raise ValueError("Must not be null; leave the field out to keep it.")
        return self

    def changes(self) -> dict[str, Any]:
        """The given fields by their names in the database."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class SwitchChange(Strict):
    """`{scope?}`: triage alone (the default), or the copilot too (D-18)."""

    scope: SwitchScope = "triage"


class AgentConfigPublic(Wire):
    """`AgentConfig` of 003 §8.3, with when and by whom it was switched (D-18)."""

    name: str
    enabled: bool
    copilot_enabled: bool
    mode: TriageMode
    allowed_fields: list[str]
    daily_action_cap: int
    flag_threshold: Threshold
    working_hours: str
    apply_direction: Direction
    switched_at: Moment | None
    switched_by: str | None
    updated_by: str | None
    updated_at: Moment


class AuditRowPublic(Sparse):
    """One row of the audit trail; those of an older desk have neither `seq` nor `hmac` (D-20)."""

    always = frozenset({"before", "after"})

    id: str
    seq: int | None = None
    agent_name: str
    actor_id: str
    action: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    created_at: Moment
    hmac: str | None = None


class AuditPage(OffsetPage[AuditRowPublic]):
    """The audit trail, newest first."""
