"""The triage policy as agents and dispatchers meet it: made on first use from the settings (AGT-3, D-18, D-30)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from app.accounts.actors import Actor, HumanActor
from app.core.clock import Clock
from app.core.errors import Conflict
from app.core.ids import new_id
from app.core.settings import Settings
from app.governance.access import require_admin
from app.governance.audit import AuditLog
from app.governance.models import AgentConfig, PendingAudit, RaisedTier
from app.governance.repository import GovernanceRepository
from app.governance.schemas import AgentConfigPublic, PolicyChange, SwitchScope

TRIAGE = "triage"
TOOLS = "tools"

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
        return await self._config(TRIAGE)

    async def copilot_enabled(self) -> bool:
        """False while a dispatcher has switched everything off (D-18)."""
        return (await self.triage_policy()).copilot_enabled

    async def raised_tiers(self) -> list[RaisedTier]:
        """What admins raised, to be read before each step."""
        return (await self._config(TOOLS)).raised_tiers

    async def raise_tier(self, actor: Actor, tool: str, tier: str, over: Collection[str]) -> None:
        """Puts `tool` on `tier` unless it stands on one that is not `over`, the lower ones. Audited. `Forbidden`."""
        admin = require_admin(actor)

        def fields(config: AgentConfig) -> dict[str, Any]:
            present = {raised.name: raised.tier for raised in config.raised_tiers}
            if present.get(tool, "") and present[tool] not in over:
                return {}
            return {"raisedTiers": [{"name": name, "tier": word} for name, word in (present | {tool: tier}).items()]}

        await self._change(TOOLS, admin, "tools.raise", fields)

    async def change_policy(self, actor: Actor, change: PolicyChange) -> AgentConfig:
        """Sets the given fields of the policy (AGT-8). Raises `Forbidden`."""
        return await self._change(TRIAGE, require_admin(actor), "config.update", lambda _: change.changes())

    async def switch(self, actor: Actor, scope: SwitchScope, *, on: bool) -> AgentConfig:
        """The kill switch: triage, or the copilot with it (AGT-9, D-18). Raises `Forbidden`."""
        admin = require_admin(actor)

        def fields(config: AgentConfig) -> dict[str, Any]:
            return _switched(config, scope, on, self._clock.now(), str(admin.id))

        return await self._change(TRIAGE, admin, "config.enable" if on else "config.disable", fields)

    async def _config(self, name: str) -> AgentConfig:
        config = await self._repository.config(name, self._first() if name == TRIAGE else self._bare(name))
        if config.pending_audit is not None:
            await self._complete(name, config.pending_audit)
        return config

    async def _change(
        self, name: str, admin: HumanActor, action: str, fields: Callable[[AgentConfig], dict[str, Any]]
    ) -> AgentConfig:
        """One change and its audit row, in the order of the changes; what changes nothing is none."""
        for _ in range(_RACES):
            config = await self._config(name)
            before, wanted = _KEPT_OF[name](config), fields(config)
            after = {field: wanted.get(field, value) for field, value in before.items()}
            if after == before:
                return config
            now, by = self._clock.now(), str(admin.id)
            owed = PendingAudit(id=new_id(), actor_id=by, action=action, before=before, after=after, at=now)
            more = {"updatedBy": by, "updatedAt": now, "pendingAudit": owed.model_dump(by_alias=True)}
            changed = await self._repository.change_config(name, config.revision, wanted | more)
            if changed is not None:
                await self._complete(name, owed)
                return changed
        raise Conflict("Others are changing the policy at this moment. Look at it again.")

    async def _complete(self, name: str, owed: PendingAudit) -> None:
        await self._audit.append_change(name, owed)
        await self._repository.audited(name, owed.id)

    def _bare(self, name: str) -> dict[str, Any]:
        now = self._clock.now()
        return {"name": name, "updatedBy": None, "createdAt": now, "updatedAt": now}

    def _first(self) -> dict[str, Any]:
        return self._bare(TRIAGE) | {
            "enabled": True,
            "copilotEnabled": True,
            "mode": self._settings.agent_triage_mode,
            "allowedFields": ["priority"],
            "dailyActionCap": 200,
            "flagThreshold": "high",
            "workingHours": self._settings.agent_working_hours,
            "applyDirection": "both",
        }


def present(config: AgentConfig) -> AgentConfigPublic:
    """The policy on the wire."""
    return AgentConfigPublic(**{name: getattr(config, name) for name in AgentConfigPublic.model_fields})


def recorded(config: AgentConfig) -> dict[str, Any]:
    """What the audit trail keeps of a policy, by its names in the database."""
    kept: dict[str, Any] = config.model_dump(mode="json", by_alias=True, include=set(_RECORDED))
    return kept


def _raised(config: AgentConfig) -> dict[str, Any]:
    return {"raisedTiers": [{"name": raised.name, "tier": raised.tier} for raised in config.raised_tiers]}


_KEPT_OF = {TRIAGE: recorded, TOOLS: _raised}
"""What the audit trail keeps of each row."""


def _switched(config: AgentConfig, scope: SwitchScope, on: bool, now: datetime, by: str) -> dict[str, Any]:
    """The fields of a switch; "since" and "by whom" move only with the switch that they tell of."""
    fields: dict[str, Any] = {}
    if config.enabled != on:
        fields |= {"enabled": on, "switchedAt": now, "switchedBy": by}
    if scope == "all" and config.copilot_enabled != on:
        fields |= {"copilotEnabled": on, "copilotSwitchedAt": now, "copilotSwitchedBy": by}
    return fields
