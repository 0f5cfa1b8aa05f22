"""A policy tried out on the orders of the last 30 days before it is saved: no provider call, nothing written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from app.accounts.actors import Actor
from app.core.clock import Clock, utc_day
from app.core.weekly_hours import WeeklyHours, parse_hours
from app.governance.access import require_admin
from app.governance.models import AgentConfig
from app.governance.schemas import PolicyChange
from app.governance.service import GovernanceService
from app.triage.auto_apply import wants_auto
from app.triage.past import PastSuggestion, PastSuggestions
from app.triage.schemas import Effects, ReplayReport, rank

DAYS = 30
_FAR_DAYS = 400


class PolicyReplay:
    """Uses the suggestions on record: what the model said then is what it is taken to say."""

    def __init__(self, governance: GovernanceService, past: PastSuggestions, clock: Clock) -> None:
        self._governance = governance
        self._past = past
        self._clock = clock

    async def of(self, actor: Actor, change: PolicyChange) -> ReplayReport:
        """What the present policy and the changed one make of the same orders. Raises `Forbidden`."""
        require_admin(actor)
        policy = await self._governance.triage_policy()
        changed = policy.model_copy(update=change.model_dump(exclude_unset=True))
        past = await self._past.since(self._clock.now() - timedelta(days=DAYS))
        return ReplayReport(days=DAYS, orders=len(past), now=effects(past, policy), then=effects(past, changed))


def effects(past: Sequence[PastSuggestion], policy: AgentConfig) -> Effects:
    """What `policy` would have done with these."""
    flagged = sum(_flags(one, policy) for one in past)
    applied = [one for one in past if _applies(one, policy)]
    lowered = sum(_lowers(one) for one in applied)
    hours, cap, longest = _waits(sorted(filter(None, map(_made, past))), policy)
    return Effects(
        flagged=flagged,
        applied=len(applied),
        raised=len(applied) - lowered,
        lowered=lowered,
        waits_for_hours=hours,
        waits_for_calls=cap,
        longest_wait_s=round(longest.total_seconds()),
    )


def _flags(one: PastSuggestion, policy: AgentConfig) -> bool:
    """Rows from before the model's own word was kept apart say what was flagged then."""
    said = one.suggestion.model_flagged
    model = one.suggestion.flag_for_dispatcher if said is None else said
    return model or rank(one.suggestion.suggested_priority) >= rank(policy.flag_threshold)


def _applies(one: PastSuggestion, policy: AgentConfig) -> bool:
    read = one.suggestion.priority_read
    return read is not None and wants_auto(policy, read, one.suggestion.suggested_priority)[0]


def _lowers(one: PastSuggestion) -> bool:
    read = one.suggestion.priority_read
    return read is not None and rank(one.suggestion.suggested_priority) < rank(read)


def _made(one: PastSuggestion) -> datetime | None:
    return one.standing.order.created_at if one.standing else None


def _waits(made: Iterable[datetime], policy: AgentConfig) -> tuple[int, int, timedelta]:
    """Of orders made at these instants, in order: how many wait for hours, how many for a day's calls, and the longest.

    One call per order; an order that waits for both counts for the calls.
    """
    hours, calls = parse_hours(policy.working_hours), Counter[str]()
    for_hours, for_calls, longest = 0, 0, timedelta()
    for moment in made:
        opening = hours.next_opening(moment)
        start = _with_calls_left(opening, hours, calls, policy.daily_action_cap)
        if start is None:
            for_calls += 1
            continue
        calls[utc_day(start)] += 1
        for_calls += start > opening
        for_hours += start == opening > moment
        longest = max(longest, start - moment)
    return for_hours, for_calls, longest


def _with_calls_left(start: datetime, hours: WeeklyHours, calls: Counter[str], cap: int) -> datetime | None:
    """The first opening from `start` on a day with calls left; None when there is none."""
    for _ in range(_FAR_DAYS if cap else 0):
        if calls[utc_day(start)] < cap:
            return start
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        start = hours.next_opening(midnight)
    return None
