"""The triage policy as agents and dispatchers meet it: made on first use from the settings (AGT-3, D-18, D-30)."""

from __future__ import annotations

from typing import Any

from app.accounts.actors import Actor, HumanActor, require_human
from app.core.clock import Clock
from app.core.errors import Forbidden
from app.core.settings import Settings
from app.governance.models import AgentConfig
from app.governance.repository import GovernanceRepository
from app.governance.schemas import AgentConfigPublic, PolicyChange, SwitchScope

TRIAGE = "triage"


class GovernanceService:
    """Nothing is kept in memory: whoever asks, before a claim, a call or a write, sees the present state (D-18)."""

    def __init__(self, repository: GovernanceRepository, clock: Clock, settings: Settings) -> None:
        self._repository = repository
        self._clock = clock
        self._settings = settings

    async def triage_policy(self) -> AgentConfig:
        """The policy, to be read before each step."""
        return await self._repository.config(TRIAGE, self._first())

    async def copilot_enabled(self) -> bool:
        """False while a dispatcher has switched everything off (D-18)."""
        return (await self.triage_policy()).copilot_enabled

    async def change_policy(self, actor: Actor, change: PolicyChange) -> AgentConfig:
        """Sets the given fields of the policy (AGT-8). Raises `Forbidden`."""
        admin = _require_admin(actor)
        await self.triage_policy()
        return await self._repository.change_config(TRIAGE, change.changes() | self._by(admin))

    async def switch(self, actor: Actor, scope: SwitchScope, *, on: bool) -> AgentConfig:
        """The kill switch: triage, or the copilot with it (AGT-9, D-18). Raises `Forbidden`."""
        admin = _require_admin(actor)
        await self.triage_policy()
        fields: dict[str, Any] = {"enabled": on, "switchedAt": self._clock.now(), "switchedBy": str(admin.id)}
        if scope == "all":
            fields["copilotEnabled"] = on
        return await self._repository.change_config(TRIAGE, fields | self._by(admin))

    def _by(self, admin: HumanActor) -> dict[str, Any]:
        return {"updatedBy": str(admin.id), "updatedAt": self._clock.now()}

    def _first(self) -> dict[str, Any]:
        now = self._clock.now()
        return {
            "name": TRIAGE,
            "enabled": True,
            "copilotEnabled": True,
            "mode": self._settings.agent_triage_mode,
            "allowedFields": ["priority"],
            "dailyActionCap": 200,
            "flagThreshold": "high",
            "workingHours": self._settings.agent_working_hours,
            "applyDirection": "both",
            "updatedBy": None,
            "createdAt": now,
            "updatedAt": now,
        }


def present(config: AgentConfig) -> AgentConfigPublic:
    """The policy on the wire."""
    return AgentConfigPublic(**{name: getattr(config, name) for name in AgentConfigPublic.model_fields})


def _require_admin(actor: Actor) -> HumanActor:
    human = require_human(actor)
    if human.role != "admin":
        raise Forbidden("Only a dispatcher may change what agents do.")
    return human
