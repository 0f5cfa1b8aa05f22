"""The policy as a form: what was typed, read into the same strict model as JSON (AGT-8, HTTP-5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.accounts.forms import Form
from app.core.errors import ErrorDetail, ValidationFailed
from app.core.weekly_hours import parse_hours
from app.governance.models import AgentConfig
from app.governance.schemas import PolicyChange
from app.web.validation import parse

_PREVIEW_DAYS = 7
_NAMES = {
    "mode": "mode",
    "dailyActionCap": "daily_action_cap",
    "flagThreshold": "flag_threshold",
    "workingHours": "working_hours",
    "applyDirection": "apply_direction",
}


@dataclass(frozen=True, slots=True)
class OpenDay:
    """The openings of one UTC day."""

    day: datetime
    openings: list[tuple[datetime, datetime]]


def filled(policy: AgentConfig) -> Form:
    """The form as it stands before anyone types."""
    values = {name: str(getattr(policy, name)) for name in _NAMES.values()}
    return Form(values | {"may_write": "true" if "priority" in policy.allowed_fields else ""})


def change(values: Mapping[str, str]) -> PolicyChange:
    """Raises `ValidationFailed`, whose details name the fields as the form does."""
    given: dict[str, Any] = {alias: values.get(name, "").strip() for alias, name in _NAMES.items()}
    cap = given["dailyActionCap"]
    if cap.isascii() and cap.isdigit():
        given["dailyActionCap"] = int(cap[:9])
    given["allowedFields"] = ["priority"] if values.get("may_write") == "true" else []
    try:
        return parse(PolicyChange, given)
    except ValidationFailed as error:
        faults = [ErrorDetail(_NAMES.get(one.field, one.field), one.message) for one in error.details]
        raise ValidationFailed(details=faults) from None


def next_days(working_hours: str, now: datetime) -> list[OpenDay]:
    """When triage works in the next seven days, by UTC day; `working_hours` is readable (D-12)."""
    openings = parse_hours(working_hours).openings(now, _PREVIEW_DAYS)
    first = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = [first + timedelta(days=number) for number in range(_PREVIEW_DAYS)]
    return [OpenDay(day, _within(openings, max(day, now), day + timedelta(days=1))) for day in days]


def _within(
    openings: list[tuple[datetime, datetime]], start: datetime, end: datetime
) -> list[tuple[datetime, datetime]]:
    cut = ((max(opening[0], start), min(opening[1], end)) for opening in openings)
    return [(since, until) for since, until in cut if since < until]
