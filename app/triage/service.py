"""Triage: claims events when there is room, keeps them alive while they run, lets waiting ones go (AGT-2, D-11, D-24).

The only door of the feature for the worker and the dispatcher's manual trigger.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from datetime import timedelta

from bson import ObjectId
from pymongo.errors import PyMongoError

from app.accounts.service import AccountsService
from app.core.logging import get_logger
from app.governance.errors import AiUnavailable
from app.governance.gate import TriageGate
from app.governance.schemas import WAIT_REASONS, WAIT_WORDS
from app.outbox.schemas import Event
from app.outbox.service import OutboxService
from app.runs.errors import LeaseLostError
from app.runs.service import RunService
from app.triage.passes import LEASE_LOST, OPTED_OUT, Held, TriagePass
from app.triage.repository import SuggestionRepository
from app.triage.schemas import DrainCounts, PassResult
from app.work_orders.creation_events import ORDER_CREATED
from app.work_orders.errors import OrderNotFound
from app.work_orders.service import WorkOrderService

log = get_logger(__name__)

ALREADY = "This work order was triaged already."
AT_WORK = "A worker is at it."
_AT_ONCE = 100
_RELEASE_S = 3.0


class TriageService:
    """`passes` is None on a desk without AI: then nothing is claimed (D-22). `concurrency` is AGENT_CONCURRENCY."""

    def __init__(
        self,
        *,
        passes: TriagePass | None,
        suggestions: SuggestionRepository,
        outbox: OutboxService,
        orders: WorkOrderService,
        accounts: AccountsService,
        gate: TriageGate,
        runs: RunService,
        lease: timedelta,
        concurrency: int,
    ) -> None:
        self._passes = passes
        self._suggestions = suggestions
        self._outbox = outbox
        self._orders = orders
        self._accounts = accounts
        self._gate = gate
        self._runs = runs
        self._lease_ms = round(lease.total_seconds() * 1000)
        self._heartbeat_s = lease.total_seconds() / 3
        self._concurrency = concurrency

    @property
    def enabled(self) -> bool:
        """AI_ENABLED."""
        return self._passes is not None

    async def let_go(self) -> int:
        """Parks what is due while the gate is closed, with the reason; makes it due again once it is open (D-11)."""
        if self._passes is None:
            return 0
        if wait := await self._gate.closed():
            return await self._outbox.park_due(ORDER_CREATED, wait.reason, wait.until)
        return await self._outbox.unpark(ORDER_CREATED, WAIT_REASONS)

    async def run_next(self) -> PassResult | None:
        """Claims the event that is due for longest and works on it; None when there is none, or the gate is closed."""
        if self._passes is None or await self._gate.shut():
            return None
        claimed = await self._outbox.claim(1, self._lease_ms)
        if not claimed:
            return None
        result = await self.run_event(claimed[0])
        if result.closed:
            await self.let_go()  # the others wait too, without each being claimed for it
        return result

    async def claim_and_run(self, limit: int | None = None) -> DrainCounts:
        """Works until nothing is due or `limit` events are done, on AGENT_CONCURRENCY events at a time (AGT-2)."""
        await self.let_go()
        counts: Counter[str] = Counter()
        left = [limit]

        async def lane() -> None:
            while left[0] is None or left[0] > 0:
                if left[0] is not None:
                    left[0] -= 1
                result = await self.run_next()
                if result is None:
                    return
                counts[result.outcome] += 1

        async with asyncio.TaskGroup() as lanes:
            for _ in range(self._concurrency):
                lanes.create_task(lane())
        return DrainCounts(**counts)

    async def run_event(self, event: Event) -> PassResult:
        """Works on an event that the caller has claimed, renewing its lease; gives it back when cancelled."""
        if self._passes is None:
            raise AiUnavailable
        held = Held(event)
        work = asyncio.create_task(self._passes.run(held), name=f"triage-{event.id}")
        ended = asyncio.Event()
        beat = asyncio.create_task(self._beat(held, work, ended), name=f"triage-lease-{event.id}")
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            if held.lost:
                return PassResult("waiting", held.run_id, LEASE_LOST)
            if not work.cancelled() and work.exception() is None:
                return work.result()  # it had just ended
            await asyncio.shield(self._give_back(held))
            raise
        finally:
            ended.set()
            await asyncio.wait({beat})

    async def trigger(self, order_id: ObjectId) -> PassResult:
        """A dispatcher's manual trigger: the order's own event, the same policy and ledgers (D-21).

        Raises `AiUnavailable`, `OrderNotFound`.
        """
        if self._passes is None:
            raise AiUnavailable
        order = await self._orders.for_triage(order_id)
        if order is None:
            raise OrderNotFound
        if found := await self._suggestions.of_order(order_id, 1):
            return PassResult("skipped", found[0].run_id, ALREADY)
        if not await self._accounts.ai_on(order.owner):
            return PassResult("skipped", None, OPTED_OUT)
        await self._outbox.append(ORDER_CREATED, str(order_id))
        if wait := await self._gate.closed():
            return PassResult("waiting", None, WAIT_WORDS[wait.reason])
        event = await self._outbox.claim_one(ORDER_CREATED, str(order_id), self._lease_ms)
        return await self.run_event(event) if event else await self._not_claimed(order_id)

    async def sweep(self) -> int:
        """Ends runs of passes that died: their events go on in new ones (003 §4.5); how many."""
        ended = 0
        for run_id in await self._runs.adrift(_AT_ONCE, "autonomous"):
            ended += await self._runs.finish_unheld(run_id, "error", "LEASE_LOST") is not None
        return ended

    async def reconcile(self, older_than_ms: int) -> int:
        """Makes the events that a crash left out; how many (AGT-1, D-27)."""
        return await self._orders.reconcile_events(older_than_ms)

    async def _not_claimed(self, order_id: ObjectId) -> PassResult:
        event = await self._outbox.find(ORDER_CREATED, str(order_id))
        if event is not None and event.status == "done":
            found = await self._suggestions.of_order(order_id, 1)
            return PassResult("skipped", found[0].run_id if found else None, ALREADY if found else OPTED_OUT)
        return PassResult("waiting", None, AT_WORK)

    async def _beat(self, held: Held, work: asyncio.Task[PassResult], ended: asyncio.Event) -> None:
        """Renews the leases of event and run every third of them; work that lost the event's stops at once.

        Ends by `ended`, not by being cancelled: a query cancelled while MongoDB is away can, on Python 3.11, leave
        the driver's own lock broken, and then no query of this process ever ends again.
        """
        while not await _is_set_within(ended, self._heartbeat_s):
            try:
                alive = await self._outbox.heartbeat(held.event, self._lease_ms)
                if alive and held.run is not None:
                    with contextlib.suppress(LeaseLostError):  # the run may have ended in this moment
                        await self._runs.renew(held.run)
            except PyMongoError as error:
                log.warning("triage_heartbeat_failed", event_id=held.event.id, error=type(error).__name__)
                continue
            if not alive and not work.done():
                held.lost = True
                work.cancel()
                return

    async def _give_back(self, held: Held) -> None:
        """The worker stops: the event is due again at once, uncounted; its run is over."""
        try:
            async with asyncio.timeout(_RELEASE_S):
                await self._outbox.release(held.event)
                if held.run is not None:
                    await self._runs.finish(held.run, "aborted", "ABORTED")
        except (PyMongoError, TimeoutError, LeaseLostError) as error:
            log.warning("triage_release_failed", event_id=held.event.id, error=type(error).__name__)


async def _is_set_within(event: asyncio.Event, timeout_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()
