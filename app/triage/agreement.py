"""Triage measured against what people then decided (contract, section 7): kept, or not, per suggested priority."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.triage.models import TriageSuggestion
from app.triage.past import PastSuggestion
from app.work_orders.schemas import PRIORITIES, Priority, Standing


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of `decided` suggestions, people kept the priority of `kept`. `priority` is None for all together."""

    priority: Priority | None
    kept: int
    decided: int

    @property
    def percent(self) -> int | None:
        """None while nobody has decided on any."""
        return round(100 * self.kept / self.decided) if self.decided else None


def kept(suggestion: TriageSuggestion, standing: Standing | None) -> bool | None:
    """Whether people kept the suggested priority; None while nobody has said anything.

    The last person who set the priority has the word; else who dismissed or undid it; else who finished the order.
    """
    if suggestion.undone_at is not None:
        return False
    if (set_to := _set_by_person(suggestion, standing)) is not None:
        return set_to == suggestion.suggested_priority
    if suggestion.applied and suggestion.applied_by != "system":
        return True
    if standing is None:
        return None
    if suggestion.dismissed_at is not None or standing.order.status == "done":
        return standing.order.priority == suggestion.suggested_priority
    return None


def agreement(past: Iterable[PastSuggestion]) -> list[Agreement]:
    """All together, then high, medium and low."""
    said = [(one.suggestion.suggested_priority, kept(one.suggestion, one.standing)) for one in past]
    decided = [(priority, verdict) for priority, verdict in said if verdict is not None]
    parts = [(priority, [verdict for of, verdict in decided if of == priority]) for priority in reversed(PRIORITIES)]
    everything = Agreement(None, sum(verdict for _, verdict in decided), len(decided))
    return [everything, *(Agreement(priority, sum(verdicts), len(verdicts)) for priority, verdicts in parts)]


def _set_by_person(suggestion: TriageSuggestion, standing: Standing | None) -> str | None:
    for mark in reversed(standing.marks if standing else []):
        if mark.at <= suggestion.created_at:
            return None
        for change in mark.changes:
            if change.field == "priority" and mark.by != "system" and mark.action == "changed":
                return str(change.after)
    return None
