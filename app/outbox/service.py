"""The outbox: append once, claim with a lease, settle by claim (AGT-1, AGT-2, AGT-5, D-11, D-27).

MongoDB holds the truth: an event is open until somebody who holds its claim settles it. A process that lost its
lease writes nothing, because every settlement names the claim.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from app.core.clock import Clock
from app.core.ids import parse_id
from app.outbox.backoff import backoff
from app.outbox.repository import OutboxRepository
from app.outbox.schemas import RETRY, Event, EventStatus, OutboxCounts

_MAX_REASON = 500
_GAVE_UP = "Every attempt ended without an answer: the worker was stopped or lost its lease each time."


class OutboxService:
    """`max_attempts`: how many claims an event gets before it is failed; parked ones do not count."""

    def __init__(
        self, repository: OutboxRepository, clock: Clock, *, max_attempts: int, jitter: random.Random | None = None
    ) -> None:
        self._repository = repository
        self._clock = clock
        self._max_attempts = max_attempts
        self._jitter = jitter or random.Random()  # noqa: S311 - spreads retries, guards nothing

    async def append(self, type: str, payload_ref: str, *, settled: str | None = None) -> bool:  # noqa: A002
        """Makes the event unless it exists; whether it was made.

        `settled`: the outcome of an event that needs no work and is `done` from the start (D-27).
        """
        now = self._clock.now()
        document: dict[str, Any] = {
            "type": type,
            "payloadRef": payload_ref,
            "status": "done" if settled else "pending",
            "attempts": 0,
            "createdAt": now,
            "updatedAt": now,
            "claimedAt": None,
            "leasedUntil": None,
        }
        return await self._repository.insert(document | ({"outcome": settled} if settled else {"availableAt": now}))

    async def claim(self, limit: int, lease_ms: int) -> list[Event]:
        """Up to `limit` due events, those due for longest first, each leased for `lease_ms`.

        An event whose claims all ended without a word is failed here, so that nothing circles for ever.
        """
        claimed: list[Event] = []
        while len(claimed) < limit:
            event = await self._next_due(lease_ms)
            if event is None:
                break
            if event.attempts > self._max_attempts:
                await self.fail(event, _GAVE_UP)
            else:
                claimed.append(event)
        return claimed

    async def _next_due(self, lease_ms: int) -> Event | None:
        event = await self._repository.claim_due(self._clock.now(), self._lease(lease_ms))
        if event is None and await self._repository.adopt():
            event = await self._repository.claim_due(self._clock.now(), self._lease(lease_ms))
        return event

    async def claim_one(self, type: str, payload_ref: str, lease_ms: int) -> Event | None:  # noqa: A002
        """This event, leased (D-21). None when there is none, it is done, or somebody works on it: see `find`."""
        return await self._repository.claim_one(type, payload_ref, self._clock.now(), self._lease(lease_ms))

    async def heartbeat(self, event: Event, lease_ms: int) -> bool:
        """Renews the lease; false when it was lost, and then the work must stop."""
        lease = self._lease(lease_ms)
        renewed = {key: lease[key] for key in ("availableAt", "leasedUntil", "updatedAt")}
        return await self._repository.update_claimed(event, {"$set": renewed})

    async def done(self, event: Event, outcome: str) -> bool:
        """Settles the event; false when the claim was lost.

        It does not wait for the disk: a settlement that MongoDB loses in a crash is an event whose lease lapses, and
        whoever claims it then finds the work done.
        """
        settled = self._settled("done", outcome=outcome, lastError=None)
        return await self._repository.update_claimed(event, settled, waits=False)

    async def fail(self, event: Event, reason: str) -> bool:
        """Fails the event for good, until an admin retries it; false when the claim was lost."""
        return await self._repository.update_claimed(event, self._settled("failed", lastError=reason[:_MAX_REASON]))

    async def retry(self, event: Event, reason: str) -> EventStatus | None:
        """After a passing failure: `pending` with a growing delay, or `failed` at the cap; None: claim lost (AGT-5)."""
        if event.attempts >= self._max_attempts:
            return "failed" if await self.fail(event, reason) else None
        due = self._clock.now() + backoff(event.attempts, self._jitter)
        update = self._open_again(due, RETRY, lastError=reason[:_MAX_REASON])
        return "pending" if await self._repository.update_claimed(event, update) else None

    async def park(self, event: Event, reason: str, until: datetime) -> bool:
        """The event waits until `until` because of `reason`; the attempt is not counted (D-11)."""
        update = self._open_again(until, reason) | {"$inc": {"attempts": -1}}
        return await self._repository.update_claimed(event, update)

    async def park_due(self, type: str, reason: str, until: datetime) -> int:  # noqa: A002
        """All due events of `type` that nobody works on wait until `until` because of `reason`; how many (D-11)."""
        now = self._clock.now()
        fields = {"waitReason": reason, "availableAt": until, "updatedAt": now}
        return await self._repository.park_due(type, now, fields)

    async def unpark(self, type: str, reasons: Sequence[str]) -> int:  # noqa: A002
        """The reason is gone: events of `type` that wait for one of `reasons` are due now; how many (D-11)."""
        return await self._repository.unpark(type, self._clock.now(), reasons)

    async def release(self, event: Event) -> bool:
        """Gives the event back at once, uncounted: the worker is stopping."""
        update = self._open_again(self._clock.now(), None) | {"$inc": {"attempts": -1}}
        return await self._repository.update_claimed(event, update)

    async def retry_failed(self, event_id: str) -> bool:
        """An admin's retry: the failed event is due now, with all its attempts; false when it is not failed."""
        return await self._repository.reopen_failed(parse_id(event_id), self._clock.now())

    async def find(self, type: str, payload_ref: str) -> Event | None:  # noqa: A002
        return await self._repository.find(type, payload_ref)

    async def page(self, statuses: Sequence[EventStatus], page: int, limit: int) -> tuple[list[Event], int]:
        """The `page`-th (from 1) `limit` events in these states, newest first, and how many there are."""
        rows = await self._repository.page(statuses, (page - 1) * limit, limit)
        return rows, await self._repository.total(statuses)

    async def counts(self) -> OutboxCounts:
        return await self._repository.counts()

    async def missing(self, type: str, payload_refs: Sequence[str]) -> list[str]:  # noqa: A002
        """Those of `payload_refs` that have no event, in their order."""
        present = await self._repository.present(type, payload_refs)
        return [ref for ref in payload_refs if ref not in present]

    async def reconcile(
        self,
        type: str,  # noqa: A002
        payload_refs: Sequence[str],
        *,
        skipped: Collection[str] = (),
    ) -> int:
        """Makes the events that `payload_refs` lack, those in `skipped` settled at once; how many (AGT-1, D-27)."""
        made = 0
        for ref in await self.missing(type, payload_refs):
            made += await self.append(type, ref, settled="skipped" if ref in skipped else None)
        return made

    def _lease(self, lease_ms: int) -> dict[str, Any]:
        now = self._clock.now()
        until = now + timedelta(milliseconds=lease_ms)
        return {
            "status": "processing",
            "availableAt": until,
            "leasedUntil": until,
            "claim": secrets.token_hex(12),
            "claimedAt": now,
            "updatedAt": now,
        }

    def _settled(self, status: EventStatus, **values: Any) -> dict[str, Any]:
        return {
            "$set": {"status": status, "leasedUntil": None, "updatedAt": self._clock.now(), **values},
            "$unset": {"availableAt": "", "claim": "", "waitReason": ""},
        }

    def _open_again(self, due: datetime, reason: str | None, **values: Any) -> dict[str, Any]:
        fields = {"status": "pending", "availableAt": due, "leasedUntil": None, "updatedAt": self._clock.now()}
        update: dict[str, Any] = {"$set": fields | values, "$unset": {"claim": ""}}
        if reason:
            update["$set"]["waitReason"] = reason
        return update
