"""The audit trail: an append-only chain under AUDIT_KEY (SEC-13, D-20)."""

from __future__ import annotations

from typing import Any

from app.accounts.actors import Actor
from app.core.clock import Clock
from app.core.errors import Unavailable
from app.core.ids import new_id
from app.governance.access import require_admin
from app.governance.audit_repository import AuditRepository
from app.governance.chain import GENESIS, Verification, seal, verify
from app.governance.models import AgentConfigAudit, PendingAudit
from app.governance.schemas import AuditPage, AuditRowPublic

TRANSCRIPT_VIEW = "transcript.view"

_RACES = 500


class AuditLog:
    """Rows are appended by whoever wins their number; a loser takes the next one."""

    def __init__(self, rows: AuditRepository, clock: Clock, key: str) -> None:
        self._rows = rows
        self._clock = clock
        self._key = key.encode()

    async def transcript_viewed(self, actor: Actor, agent_name: str, run_id: str) -> int:
        """A dispatcher is about to see a run's transcript; the number of the row. Raises `Forbidden`."""
        admin = require_admin(actor)
        row = {"agentName": agent_name, "actorId": str(admin.id), "action": TRANSCRIPT_VIEW}
        seen = {"before": None, "after": {"runId": run_id}, "createdAt": self._clock.now()}
        return await self._append({"_id": new_id()} | row | seen)

    async def append_change(self, agent_name: str, change: PendingAudit) -> int:
        """The row of a change, once, however often it is asked for; its number."""
        row = {"agentName": agent_name, "actorId": change.actor_id, "action": change.action}
        what = {"before": change.before, "after": change.after, "createdAt": change.at}
        return await self._append({"_id": change.id} | row | what)

    async def page(self, actor: Actor, page: int, limit: int) -> AuditPage:
        """Newest first. Raises `Forbidden`."""
        require_admin(actor)
        rows, total = await self._rows.page((page - 1) * limit, limit)
        return AuditPage(items=[_public(row) for row in rows], page=page, limit=limit, total=total)

    async def verify(self, kept_head: str | None = None) -> Verification:
        """Walks the whole chain."""
        return await verify(self._rows.chain(), self._key, kept_head)

    async def _append(self, row: dict[str, Any]) -> int:
        for _ in range(_RACES):
            last, head = await self._rows.last()
            linked = row | {"seq": last + 1, "prev": head or GENESIS}
            if await self._rows.insert(linked | {"hmac": seal(linked, self._key)}):
                return last + 1
            if seq := await self._rows.seq_of(row["_id"]):
                return seq
        raise Unavailable("The audit trail is very busy. Try again in a moment.")


def _public(row: AgentConfigAudit) -> AuditRowPublic:
    fields = {name: getattr(row, name) for name in AuditRowPublic.model_fields if name != "id"}
    return AuditRowPublic(id=str(row.id), **fields)
