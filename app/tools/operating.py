"""Operator-gated tools, run by an admin from the page that lists them; on record in the audit trail (T-5)."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from app.accounts.actors import Actor, HumanActor
from app.core.canonical import sha256_hex
from app.core.clock import Clock
from app.core.errors import Conflict, Forbidden, NotFound, ValidationFailed
from app.core.ids import new_id
from app.governance.access import require_admin
from app.governance.audit import AuditLog
from app.governance.models import PendingAudit
from app.governance.service import TOOLS
from app.tools.gate import CallContext
from app.tools.gatekeeper import Gatekeeper
from app.tools.policy import Tier
from app.tools.registry import ToolRegistry
from app.tools.tool import ReadTool, ToolFault


class Operating:
    """Pressing the button is the confirmation; what the gate puts on review or never does not run from here either."""

    def __init__(self, registry: ToolRegistry, gatekeeper: Gatekeeper, audit: AuditLog, clock: Clock) -> None:
        self._registry = registry
        self._gatekeeper = gatekeeper
        self._audit = audit
        self._clock = clock

    def runnable(self) -> frozenset[str]:
        """The names of the tools that run from the page."""
        return frozenset(tool.policy.name for tool in self._registry if tool.policy.exposure == "operator-gated")

    async def run(self, actor: Actor, name: str, given: dict[str, Any]) -> str:
        """The tool's result as text. Raises `Forbidden`, `NotFound`, `ValidationFailed`, `Conflict` (it failed)."""
        admin = require_admin(actor)
        tool = self._registry.get(name) if name in self.runnable() else None
        if not isinstance(tool, ReadTool):
            raise NotFound("There is no tool of this name to run from here.")
        try:
            args = tool.arguments.model_validate(given)
        except ValidationError:
            raise ValidationFailed("The arguments must be one JSON object.") from None
        decision = await self._gatekeeper.judge(tool, args, CallContext("copilot", admin.role, by="operator"))
        if decision.blocked is not None or decision.tier >= Tier.REVIEW:
            raise Forbidden(decision.blocked or decision.denial)
        await self._record(admin, name, args.frozen_args())
        try:
            return (await tool.read(admin, args)).text
        except ToolFault as fault:
            raise Conflict(fault.message) from None

    async def _record(self, admin: HumanActor, name: str, args: dict[str, Any]) -> None:
        """Before it runs: an operator's call is never without its row."""
        told = {"tool": name, "argsHash": sha256_hex(args)}
        row = PendingAudit(
            id=new_id(), actor_id=str(admin.id), action="tools.run", before={}, after=told, at=self._clock.now()
        )
        await self._audit.append_change(TOOLS, row)
