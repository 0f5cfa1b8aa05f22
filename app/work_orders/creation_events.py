"""The outbox event beside every created order, and the pass that mends a missing one (AGT-1, D-24, D-27).

An order and its event are two writes: a crash between them leaves an order without one, which `reconcile` finds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from bson import ObjectId
from pymongo.errors import PyMongoError

from app.core.clock import Clock
from app.core.events import Announcements
from app.core.logging import get_logger
from app.outbox.service import OutboxService
from app.work_orders.repository import OrderRepository
from app.work_orders.schemas import Order, OrderCreated

log = get_logger(__name__)

ORDER_CREATED = "work_order.created"
RECONCILE_SPAN = timedelta(days=7)
_BATCH = 200

AiOn = Callable[[ObjectId], Awaitable[bool]]
"""Whether AI is on for the person of this id (PROFILE)."""


class CreationEvents:
    """Emits `work_order.created`, whose `payloadRef` is the order's id as text."""

    def __init__(
        self,
        repository: OrderRepository,
        outbox: OutboxService,
        *,
        announcements: Announcements,
        clock: Clock,
        ai_on: AiOn,
    ) -> None:
        self._repository = repository
        self._outbox = outbox
        self._announcements = announcements
        self._clock = clock
        self._ai_on = ai_on

    async def emit(self, order: Order) -> None:
        """Appends the order's event and wakes the worker.

        The order is stored already: a failure here is logged and left to `reconcile`, never told as a failed creation.
        """
        try:
            settled = None if await self._ai_on(order.owner) else "skipped"
            await self._outbox.append(ORDER_CREATED, str(order.id), settled=settled)
        except PyMongoError as error:
            log.warning("order_event_left_to_reconcile", order_id=str(order.id), error=type(error).__name__)
            return
        if settled is None:
            await self._tell(order.id)

    async def _tell(self, order_id: ObjectId) -> None:
        try:
            await self._announcements.tell(OrderCreated(order_id))
        except Exception as error:  # the event is stored; a lost nudge costs one poll interval
            log.warning("order_nudge_failed", order_id=str(order_id), error=type(error).__name__)

    async def reconcile(self, older_than_ms: int) -> int:
        """Makes the missing events of the last 7 days' orders that are older than `older_than_ms`; how many."""
        now = self._clock.now()
        since, until = now - RECONCILE_SPAN, now - timedelta(milliseconds=older_than_ms)
        made, before = 0, None
        while True:
            orders = await self._repository.owing_events(since, until, before, _BATCH)
            made += await self._mend(orders)
            if len(orders) < _BATCH:
                return made
            before = (orders[-1].created_at, orders[-1].id)

    async def _mend(self, orders: Sequence[Order]) -> int:
        by_ref = {str(order.id): order for order in orders}
        missing = await self._outbox.missing(ORDER_CREATED, list(by_ref))
        owners = {by_ref[ref].owner for ref in missing}
        opted_out = {owner for owner in owners if not await self._ai_on(owner)}
        skipped = {ref for ref in missing if by_ref[ref].owner in opted_out}
        return await self._outbox.reconcile(ORDER_CREATED, missing, skipped=skipped)
