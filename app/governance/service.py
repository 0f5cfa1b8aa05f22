"""The triage policy as agents read it: made on first use from the settings (AGT-3, D-30)."""

from __future__ import annotations

from app.core.clock import Clock
from app.core.settings import Settings
from app.governance.models import AgentConfig
from app.governance.repository import GovernanceRepository


class GovernanceService:
    """Read the policy; every reader sees the present state, at claim, before a call and before a write (D-18)."""

    def __init__(self, repository: GovernanceRepository, clock: Clock, settings: Settings) -> None:
        self._repository = repository
        self._clock = clock
        self._settings = settings

    async def triage_policy(self) -> AgentConfig:
        now = self._clock.now()
        return await self._repository.config(
            "triage",
            {
                "name": "triage",
                "enabled": True,
                "mode": self._settings.agent_triage_mode,
                "allowedFields": ["priority"],
                "dailyActionCap": 200,
                "flagThreshold": "high",
                "workingHours": self._settings.agent_working_hours,
                "applyDirection": "both",
                "updatedBy": None,
                "createdAt": now,
                "updatedAt": now,
            },
        )
