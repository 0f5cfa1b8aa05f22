"""Thirty days of triage in numbers: runs, cost, and how often people kept the suggested priority."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.clock import Clock
from app.governance.service import TRIAGE
from app.governance.spend import SpendLedger
from app.runs.schemas import DailyRuns
from app.runs.service import RunService
from app.triage.agreement import Agreement, agreement
from app.triage.past import PastSuggestions

DAYS = 30
_KEPT_FOR = timedelta(seconds=30)
_BAD = frozenset({"error", "budget_exceeded"})


@dataclass(frozen=True, slots=True)
class Day:
    """One UTC day, `YYYY-MM-DD`: passes, those of them that did not work, and their cost in US dollars."""

    day: str
    runs: int
    failed: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class MonthOfTriage:
    """The last 30 days, oldest first; agreement of all priorities together comes first."""

    days: list[Day]
    agreement: list[Agreement]
    suggestions: int


class TriageStatistics:
    """What was counted stands for half a minute: a page that renews itself does not count everything each time."""

    def __init__(self, runs: RunService, ledger: SpendLedger, past: PastSuggestions, clock: Clock) -> None:
        self._runs = runs
        self._ledger = ledger
        self._past = past
        self._clock = clock
        self._last: tuple[datetime, MonthOfTriage] | None = None

    async def month(self) -> MonthOfTriage:
        now = self._clock.now()
        if self._last is None or not timedelta() <= now - self._last[0] < _KEPT_FOR:
            self._last = (now, await self._counted(now))
        return self._last[1]

    async def _counted(self, now: datetime) -> MonthOfTriage:
        first = (now - timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
        past = await self._past.since(first)
        spent = {
            day.key.removeprefix("day:"): day.agents.get(TRIAGE, 0.0) for day in await self._ledger.last_days(DAYS)
        }
        runs = await self._runs.daily("autonomous", first)
        return MonthOfTriage([_day(day, runs, cost) for day, cost in spent.items()], agreement(past), len(past))


def _day(day: str, counted: list[DailyRuns], cost: float) -> Day:
    of_day = [one for one in counted if one.day == day]
    return Day(day, sum(one.runs for one in of_day), sum(one.runs for one in of_day if one.status in _BAD), cost)
