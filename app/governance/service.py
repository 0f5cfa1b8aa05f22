"""The triage policy as agents and dispatchers meet it: made on first use from the settings (AGT-3, D-18, D-30)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from app.accounts.actors import Actor, HumanActor
from app.core.clock import Clock
from app.core.errors import Conflict
from app.core.ids import new_id
from app.core.settings import Settings
from app.governance.access import require_admin
from app.governance.audit import AuditLog
from app.governance.models import AgentConfig, PendingAudit
from app.governance.repository import GovernanceRepository
from app.governance.schemas import AgentConfigPublic, PolicyChange, SwitchScope

TRIAGE = "triage"

_RECORDED = (
    "enabled", "copilot_enabled", "mode", "allowed_fields", "daily_action_cap", "flag_threshold", "working_hours",
    "apply_direction",
)  # fmt: skip
_RACES = 200


class GovernanceService:
    """Nothing is kept in memory: whoever asks, before a claim, a call or a write, sees the present state (D-18)."""

    def __init__(self, repository: GovernanceRepository, audit: AuditLog, clock: Clock, settings: Settings) -> None:
        self._repository = repository
        self._audit = audit
        self._clock = clock
        self._settings = settings

    async def triage_policy(self) -> AgentConfig:
        """The policy, to be read before each step. An audit row that a crash left owing is written first (D-20)."""
        config = await self._repository.config(TRIAGE, self._first())
        if config.pending_audit is not None:
            await self._complete(config.pending_audit)
        return config

    async def copilot_enabled(self) -> bool:
        """False while a dispatcher has switched everything off (D-18)."""
        return (await self.triage_policy()).copilot_enabled

    async def change_policy(self, actor: Actor, change: PolicyChange) -> AgentConfig:
        """Sets the given fields of the policy (AGT-8). Raises `Forbidden`."""
        return await self._change(require_admin(actor), "config.update", lambda _: change.changes())

    async def switch(self, actor: Actor, scope: SwitchScope, *, on: bool) -> AgentConfig:
        """The kill switch: triage, or the copilot with it (AGT-9, D-18). Raises `Forbidden`."""
        admin = require_admin(actor)

        def fields(config: AgentConfig) -> dict[str, Any]:
            return _switched(config, scope, on, self._clock.now(), str(admin.id))

        return await self._change(admin, "config.enable" if on else "config.disable", fields)

    async def _change(
        self, admin: HumanActor, action: str, fields: Callable[[AgentConfig], dict[str, Any]]
    ) -> AgentConfig:
        """One change and its audit row, in the order of the changes; what changes nothing is none."""
        for _ in range(_RACES):
            config = await self.triage_policy()
            before, wanted = recorded(config), fields(config)
            after = {name: wanted.get(name, value) for name, value in before.items()}
            if after == before:
                return config
            now, by = self._clock.now(), str(admin.id)
            owed = PendingAudit(id=new_id(), actor_id=by, action=action, before=before, after=after, at=now)
            more = {"updatedBy": by, "updatedAt": now, "pendingAudit": owed.model_dump(by_alias=True)}
            changed = await self._repository.change_config(TRIAGE, config.revision, wanted | more)
            if changed is not None:
                await self._complete(owed)
                return changed
        raise Conflict("Others are changing the policy at this moment. Look at it again.")

    async def _complete(self, owed: PendingAudit) -> None:
        await self._audit.append_change(TRIAGE, owed)
        await self._repository.audited(TRIAGE, owed.id)

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


def recorded(config: AgentConfig) -> dict[str, Any]:
    """What the audit trail keeps of a policy, by its names in the database."""
    kept: dict[str, Any] = config.model_dump(mode="json", by_alias=True, include=set(_RECORDED))
    return kept


def _switched(config: AgentConfig, scope: SwitchScope, on: bool, now: datetime, by: str) -> dict[str, Any]:
    """The fields of a switch; "since" and "by whom" move only with the switch that they tell of."""
    fields: dict[str, Any] = {}
    if config.enabled != on:
        fields |= {"enabled": on, "switchedAt": now, "switchedBy": by}
    if scope == "all" and config.copilot_enabled != on:
        fields |= {"copilotEnabled": on, "copilotSwitchedAt": now, "copilotSwitchedBy": by}
    return fields
