"""The rules of work orders, and the only door to them for other features (WO-1..10, D-5, SEC-6).

Every change is one conditional update on the version the caller saw. With a `Mark` that names a tool call, a retry
of the same call raises `AlreadyApplied` instead of acting twice (D-5). Errors of a change: `OrderNotFound` (gone, or
not theirs), `StaleOrder` (409, with the order as it is now), `Forbidden`, `AlreadyApplied`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bson import ObjectId

from app.accounts.actors import Actor, HumanActor, require_human
from app.accounts.askers import Asker
from app.accounts.people import Person
from app.core.clock import Clock
from app.core.cursors import Cursors
from app.core.ids import new_id
from app.work_orders.access import may_see, require_overseer, require_triage, require_writer
from app.work_orders.creation_events import CreationEvents
from app.work_orders.edits import changing, deleting, undoing
from app.work_orders.errors import OrderNotFound, UndoOutOfDate
from app.work_orders.list_repository import OrderLists
from app.work_orders.listing import Listing
from app.work_orders.outcomes import AlreadyApplied
from app.work_orders.presentation import Listed, People, Presenter, page
from app.work_orders.repository import OrderRepository
from app.work_orders.schemas import (
    PAGE_DEFAULT,
    HistoryEntry,
    ListQuery,
    Mark,
    Order,
    OrderFilter,
    OrderPage,
    PastOrder,
    Priority,
    Standing,
    TriageOrder,
    WorkOrderCreate,
    WorkOrderDetail,
    WorkOrderPublic,
)
from app.work_orders.writing import OrderWriter

_BACKFILL_BATCH = 500


class WorkOrderService:
    """See the module. Order ids are ObjectIds inside, hex on the wire."""

    def __init__(
        self,
        *,
        repository: OrderRepository,
        lists: OrderLists,
        events: CreationEvents,
        people: People,
        cursors: Cursors,
        clock: Clock,
    ) -> None:
        self._repository = repository
        self._events = events
        self._present = Presenter(people)
        self._listing = Listing(lists, self._present, cursors)
        self._writer = OrderWriter(repository, self._present, clock)
        self._clock = clock

    async def create(
        self, actor: Actor, fields: WorkOrderCreate, *, order_id: ObjectId | None = None, mark: Mark | None = None
    ) -> WorkOrderPublic:
        """A new order of the actor's, version 1, with its outbox event (WO-5, AGT-1).

        `order_id` fixes the id beforehand, so that a retried creation meets its own order: `AlreadyApplied`, its
        event made sure of (D-5).
        """
        human = require_writer(actor)
        order = _new_order(human.id, fields, order_id or new_id(), self._clock)
        try:
            await self._writer.insert(order, mark)
        except AlreadyApplied:
            await self._events.emit(order)
            raise
        await self._events.emit(order)
        return await self._present.order(order, human)

    async def get(self, actor: Actor, order_id: ObjectId) -> WorkOrderPublic:
        """The order, for its owner, admins and viewers; else `OrderNotFound` (WO-10)."""
        human = require_human(actor)
        return await self._present.order(await self._seen(human, order_id), human)

    async def list_own(
        self, actor: Actor, wanted: OrderFilter, cursor: str | None = None, limit: int = PAGE_DEFAULT
    ) -> OrderPage:
        """The actor's own orders, newest first (WO-2, WO-3, WO-4)."""
        human = require_human(actor)
        return page(await self._listing.of(human, human.id, wanted, cursor, limit))

    async def list_all(
        self, actor: Actor, wanted: OrderFilter, cursor: str | None = None, limit: int = PAGE_DEFAULT
    ) -> OrderPage:
        """Everyone's orders, newest first, for admins and viewers (ADM)."""
        return page(await self._listing.of(require_overseer(actor), None, wanted, cursor, limit))

    async def list_for(self, asker: Asker, wanted: ListQuery, *, everyones: bool = False) -> tuple[Person, Listed]:
        """The asker's own orders, or everyone's, and the person, read in the same trip where that can be (AUTH-5).

        Raises `Unauthorized` where the session is over, and `Forbidden` for who may not see everyone's.
        """
        return await self._listing.asked(asker, wanted, everyones=everyones)

    async def update(
        self, actor: Actor, order_id: ObjectId, version: int, changes: Mapping[str, Any], *, mark: Mark | None = None
    ) -> WorkOrderPublic:
        """Sets the given fields on exactly this version (WO-6)."""
        human = require_writer(actor)
        order = await self._writer.theirs(human, order_id, mark)
        await self._writer.require_version(order, version)
        written = await self._writer.write(order, changing(order, changes), human.id, mark)
        return await self._present.order(written, human)

    async def remove(self, actor: Actor, order_id: ObjectId, version: int, *, mark: Mark | None = None) -> None:
        """Soft deletion of exactly this version; of a deleted order, by hand, there is nothing more to do (WO-7)."""
        human = require_writer(actor)
        order = await self._writer.theirs(human, order_id, mark, deleted=mark is None)
        if order.deleted_at is not None:
            return
        await self._writer.require_version(order, version)
        try:
            await self._writer.write(order, deleting(self._clock.now()), human.id, mark)
        except OrderNotFound:
            if mark is not None:
                raise

    async def undo(
        self, actor: Actor, order_id: ObjectId, tool_call_id: str, *, mark: Mark | None = None
    ) -> WorkOrderPublic | None:
        """Takes back what this call did, if nothing happened since, else `UndoOutOfDate` (D-14, D-30).

        An undone creation is deleted (then None), an undone deletion restored; the undo is itself a mark.
        """
        human = require_writer(actor)
        order = await self._writer.theirs(human, order_id, mark, deleted=True)
        applied = await self._repository.mark_of(order_id, tool_call_id)
        if applied is None or order.version != applied.version:
            raise UndoOutOfDate
        edit = undoing(applied, order, self._clock.now())
        return await self._present.live(await self._writer.write(order, edit, human.id, mark or Mark(None, "undo")))

    async def triage_patch(
        self, actor: Actor, order_id: ObjectId, version: int, priority: Priority, mark: Mark
    ) -> WorkOrderPublic:
        """The one entry of the System Actor: sets the priority, if it differs, on exactly this version (SEC-6)."""
        require_triage(actor)
        order = await self._writer.any(order_id, mark)
        await self._writer.require_version(order, version)
        if order.priority != priority:
            order = await self._writer.write(order, changing(order, {"priority": priority}), "system", mark)
        return await self._present.order(order)

    async def for_triage(self, order_id: ObjectId) -> TriageOrder | None:
        """The live order as triage reads it."""
        order = await self._repository.find(order_id)
        if order is None or order.deleted_at is not None:
            return None
        return TriageOrder(
            order.id, order.title, order.description, order.priority, order.status, order.owner, order.version
        )

    async def standing(self, order_ids: Sequence[ObjectId]) -> dict[ObjectId, Standing]:
        """How each of these orders stands, and what happened to it; two queries at most (attention list, agreement)."""
        found = await self._repository.several(order_ids) if order_ids else []
        orders = await self._present.orders([order for order, _ in found])
        return {
            order.id: Standing(shown, order.deleted_at is not None, marks)
            for (order, marks), shown in zip(found, orders, strict=True)
        }

    async def was_applied(self, order_id: ObjectId, tool_call_id: str) -> bool:
        """Whether this call changed the order, deleted since or not (D-5)."""
        return await self._repository.mark_of(order_id, tool_call_id) is not None

    async def history(self, actor: Actor, order_id: ObjectId) -> list[HistoryEntry]:
        """The order's marks, newest first; the last 50 are kept. Raises `OrderNotFound` as `get` does."""
        await self._seen(require_human(actor), order_id)
        return await self._present.history(await self._repository.history(order_id))

    async def detail(self, actor: Actor, order_id: ObjectId) -> WorkOrderDetail:
        """The order with its history. Raises `OrderNotFound` as `get` does."""
        order = await self._seen(require_human(actor), order_id)
        return await self._present.detail(order, await self._repository.history(order_id))

    async def count(self) -> int:
        """How many live orders there are."""
        return await self._repository.count()

    async def import_past(self, orders: Sequence[PastOrder]) -> int:
        """Brings in orders with their own dates and without outbox events (D-27); ids that exist are left alone."""
        return await self._repository.insert_past(orders)

    async def reconcile_events(self, older_than_ms: int) -> int:
        """Makes missing outbox events; how many (AGT-1, D-27)."""
        return await self._events.reconcile(older_than_ms)

    async def backfill(self) -> int:
        """Makes the live orders of an older desk searchable, in bounded batches; how many (DATA-3)."""
        folded = 0
        while batch := await self._repository.fold_some(_BACKFILL_BATCH):
            folded += batch
        return folded

    async def _seen(self, human: HumanActor, order_id: ObjectId) -> Order:
        order = await self._repository.find(order_id)
        if order is None or not may_see(human, order):
            raise OrderNotFound
        return order


def _new_order(owner: ObjectId, fields: WorkOrderCreate, order_id: ObjectId, clock: Clock) -> Order:
    now = clock.now()
    return Order(
        id=order_id,
        title=fields.title,
        description=fields.description,
        priority=fields.priority,
        status=fields.status,
        owner=owner,
        version=1,
        created_at=now,
        updated_at=now,
    )
