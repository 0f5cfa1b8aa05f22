"""The dispatcher's hand on triage: kill switch, outbox, dead letters (AGT-8, AGT-9, D-18, D-30)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.accounts.actors import Actor, require_human
from app.core.events import Announcements
from app.core.ids import parse_id
from app.governance.events import CopilotSwitchedOff
from app.governance.gate import TriageGate
from app.governance.models import AgentConfig
from app.governance.schemas import PolicyChange, SwitchScope
from app.governance.service import GovernanceService
from app.outbox.schemas import Event, EventStatus
from app.outbox.service import OutboxService
from app.triage.errors import NotFailed
from app.triage.schemas import OutboxEventPublic, OutboxPage

OPEN: tuple[EventStatus, ...] = ("pending", "processing", "failed")

Wake = Callable[[], Awaitable[None]]


class Oversight:
    """`wake` nudges the workers when there is something to do again. Doors let only admins in."""

    def __init__(
        self,
        governance: GovernanceService,
        gate: TriageGate,
        outbox: OutboxService,
        *,
        wake: Wake,
        announcements: Announcements,
    ) -> None:
        self._governance = governance
        self._gate = gate
        self._outbox = outbox
        self._wake = wake
        self._announcements = announcements

    async def policy(self) -> AgentConfig:
        return await self._governance.triage_policy()

    async def change_policy(self, actor: Actor, change: PolicyChange) -> AgentConfig:
        """Any subset of the policy; what waited for the old one is looked at anew (D-11, D-30)."""
        config = await self._governance.change_policy(actor, change)
        await self._wake()
        return config

    async def switch(self, actor: Actor, scope: SwitchScope, *, on: bool) -> AgentConfig:
        """Off: nothing is claimed, called or written from now on (D-18). On: what waits goes on at once."""
        config = await self._governance.switch(actor, scope, on=on)
        if on:
            await self._wake()
        elif scope == "all":
            await self._announcements.tell(CopilotSwitchedOff(str(require_human(actor).id)))
        return config

    async def outbox(self, status: EventStatus | None, page: int, limit: int) -> OutboxPage:
        """Events in one state, or all that are open; newest first, with counts by state and wait reason."""
        events, total = await self._outbox.page([status] if status else OPEN, page, limit)
        counts, wait = await self._outbox.counts(), await self._gate.closed()
        return OutboxPage(
            items=[_public(event) for event in events],
            page=page,
            limit=limit,
            total=total,
            pending=counts.pending,
            processing=counts.processing,
            failed=counts.failed,
            waiting=counts.parked,
            closed=wait.reason if wait else None,
        )

    async def retry(self, event_id: str) -> None:
        """A failed event is due now, with all its attempts. Raises `NotFailed`."""
        parse_id(event_id)
        if not await self._outbox.retry_failed(event_id):
            raise NotFailed
        await self._wake()


def _public(event: Event) -> OutboxEventPublic:
    return OutboxEventPublic(**{name: getattr(event, name) for name in OutboxEventPublic.model_fields})
