"""The spend ledger: money is reserved before a provider call and settled after it (D-10).

One document per UTC day holds the totals of every scope and the open reservations. A reservation is one conditional
update over all its caps, so parallel runs at the edge of a cap overshoot by one call in total at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from app.core.clock import Clock, utc_day
from app.governance.errors import BudgetExceeded, Scope
from app.governance.models import AgentSpend
from app.governance.repository import GovernanceRepository

_LEFTOVER_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Caps:
    """US dollars per UTC day."""

    per_user: float
    per_agent: float
    overall: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """Money set aside for one provider call, on the day it was reserved. `amount` in US dollars."""

    key: str
    call: str
    amount: float
    user: str | None
    agent: str | None


class SpendLedger:
    """Reserve, settle, and settle what a crash left open."""

    def __init__(self, repository: GovernanceRepository, clock: Clock, caps: Caps) -> None:
        self._repository = repository
        self._clock = clock
        self._caps = caps
        self._opened: str | None = None

    @property
    def caps(self) -> Caps:
        return self._caps

    async def reserve(
        self,
        call: str,
        amount: float,
        *,
        user: str | None = None,
        agent: str | None = None,
        most_actions: int | None = None,
    ) -> Reservation:
        """Sets `amount` aside for the provider call `call` (our own hex id). Raises `BudgetExceeded`.

        `most_actions`: how many provider calls the agent may make this UTC day; this is one of them (D-13).
        """
        if (user and self._caps.per_user <= 0) or (agent and self._caps.per_agent <= 0):
            raise BudgetExceeded("user" if user else "agent")  # a scope that has spent nothing has no field to compare
        now = self._clock.now()
        key = f"day:{utc_day(now)}"
        if self._opened != key:
            await self._repository.open_day(key)
            self._opened = key
        moved: dict[str, float] = {"spentUsd": amount}
        predicate: dict[str, object] = {
            "key": key,
            f"open.{call}": {"$exists": False},
            "spentUsd": {"$not": {"$gte": self._caps.overall}},
        }
        if user:
            predicate[f"users.{user}"] = {"$not": {"$gte": self._caps.per_user}}
            moved[f"users.{user}"] = amount
        if agent:
            predicate[f"agents.{agent}"] = {"$not": {"$gte": self._caps.per_agent}}
            moved |= {f"agents.{agent}": amount, f"actions.{agent}": 1}
            if most_actions is not None:
                predicate[f"actions.{agent}"] = {"$not": {"$gte": most_actions}}
        opened = {"user": user, "agent": agent, "amount": amount, "at": now}
        if not await self._repository.apply(predicate, {"$inc": moved, "$set": {f"open.{call}": opened}}):
            scope = await self.reached(user=user, agent=agent, most_actions=most_actions)
            raise BudgetExceeded(scope or ("user" if user else "agent"))
        return Reservation(key, call, amount, user, agent)

    async def settle(self, reservation: Reservation, actual: float | None) -> float:
        """Replaces the reservation by what the call cost; None (usage unknown) charges the reservation."""
        cost = reservation.amount if actual is None else actual
        difference = cost - reservation.amount
        moved = {"spentUsd": difference}
        if reservation.user:
            moved[f"users.{reservation.user}"] = difference
        if reservation.agent:
            moved[f"agents.{reservation.agent}"] = difference
        await self._repository.settle(
            {"key": reservation.key, f"open.{reservation.call}": {"$exists": True}},
            {"$inc": moved, "$unset": {f"open.{reservation.call}": ""}},
        )
        return cost

    async def settle_leftovers(self) -> int:
        """Closes reservations of calls that died: they were charged in full when reserved."""
        now = self._clock.now()
        keys = [f"day:{utc_day(now - timedelta(days=days))}" for days in (0, 1)]
        before = now - _LEFTOVER_AFTER
        closed = 0
        for day in await self._repository.days(keys):
            stale = [call for call, opened in day.open.items() if opened.at < before]
            closed += await self._repository.drop_leftovers(day.key, stale, before)
        return closed

    async def reached(
        self, *, user: str | None = None, agent: str | None = None, most_actions: int | None = None
    ) -> Scope | None:
        """The cap of today that refuses a call of `user` or `agent` now, by the rule of `reserve`."""
        day = await self.today()
        if day.spent_usd >= self._caps.overall:
            return "global"
        if user and day.users.get(user, 0.0) >= self._caps.per_user:
            return "user"
        if agent and day.agents.get(agent, 0.0) >= self._caps.per_agent:
            return "agent"
        if agent and most_actions is not None and day.actions.get(agent, 0) >= most_actions:
            return "actions"
        return None

    async def last_days(self, days: int) -> list[AgentSpend]:
        """The spend of each of the last `days` UTC days, oldest first, today included."""
        now = self._clock.now()
        keys = [f"day:{utc_day(now - timedelta(days=back))}" for back in reversed(range(days))]
        found = {day.key: day for day in await self._repository.days(keys)}
        return [found.get(key) or AgentSpend(key=key) for key in keys]

    async def today(self) -> AgentSpend:
        """This UTC day's spend so far, open reservations included."""
        key = f"day:{utc_day(self._clock.now())}"
        return await self._repository.day(key) or AgentSpend(key=key)
