"""Whether triage may work now; if not, why, and when to look again (D-10, D-11, D-12, D-13, D-18)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.core.clock import Clock
from app.core.weekly_hours import parse_hours
from app.governance.errors import Scope
from app.governance.models import AgentConfig
from app.governance.schemas import Wait, WaitReason
from app.governance.service import TRIAGE, GovernanceService
from app.governance.spend import SpendLedger

_SWITCH_LOOK = timedelta(hours=1)
_REASONS: dict[Scope, WaitReason] = {"actions": "daily_actions", "agent": "agent_budget", "global": "desk_budget"}


class TriageGate:
    """Asks the policy and the ledger; what waits is let go as soon as the gate is open again."""

    def __init__(self, governance: GovernanceService, ledger: SpendLedger, clock: Clock) -> None:
        self._governance = governance
        self._ledger = ledger
        self._clock = clock

    async def closed(self) -> Wait | None:
        """Why nothing may be claimed or called now; None when triage may work."""
        policy = await self._governance.triage_policy()
        if wait := self.policy_closed(policy):
            return wait
        scope = await self._ledger.reached(agent=TRIAGE, most_actions=policy.daily_action_cap)
        return self.cap_reached(scope) if scope else None

    async def shut(self) -> Wait | None:
        """Why nothing may be claimed, by the policy alone: a cap is met by the reservation of the first call."""
        return self.policy_closed(await self._governance.triage_policy())

    def policy_closed(self, policy: AgentConfig) -> Wait | None:
        """The part that is read again before each step: kill switch and working hours."""
        now = self._clock.now()
        if not policy.enabled:
            return Wait("switched_off", now + _SWITCH_LOOK)
        hours = parse_hours(policy.working_hours)
        return None if hours.open_at(now) else Wait("working_hours", hours.next_opening(now))

    def cap_reached(self, scope: Scope) -> Wait:
        """A daily cap holds until the next UTC day."""
        return Wait(_REASONS[scope], _next_day(self._clock.now()))


def _next_day(now: datetime) -> datetime:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=1)
