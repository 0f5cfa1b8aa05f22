"""One change of one order: the checks before it, the conditional update, and what a lost race means (WO-6, D-5)."""

from __future__ import annotations

from typing import Literal

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.core.clock import Clock
from app.work_orders.access import may_change
from app.work_orders.edits import Edit
from app.work_orders.errors import OrderExists, OrderNotFound
from app.work_orders.outcomes import AlreadyApplied, StaleOrder
from app.work_orders.presentation import Presenter
from app.work_orders.repository import OrderRepository
from app.work_orders.schemas import BY_HAND, HistoryMark, Mark, Order

Author = ObjectId | Literal["system"]


class OrderWriter:
    """Raises `OrderNotFound`, `StaleOrder` or `AlreadyApplied` instead of writing what must not be written."""

    def __init__(self, repository: OrderRepository, presenter: Presenter, clock: Clock) -> None:
        self._repository = repository
        self._presenter = presenter
        self._clock = clock

    async def insert(self, order: Order, mark: Mark | None) -> None:
        """Stores a new order. `AlreadyApplied` when this very call made it before."""
        created = self._stamp(order.owner, mark, Edit("created", {}, []), version=1)
        if await self._repository.insert(order, created):
            return
        await self.raise_if_applied(await self._repository.find(order.id), mark)
        raise OrderExists

    async def theirs(self, human: HumanActor, order_id: ObjectId, mark: Mark | None, *, deleted: bool = False) -> Order:
        """The order, when `human` may change it; a deleted one only when `deleted`."""
        order = await self._repository.find(order_id)
        if order is None or not may_change(human, order):
            raise OrderNotFound
        return await self._ready(order, mark, deleted=deleted)

    async def any(self, order_id: ObjectId, mark: Mark | None) -> Order:
        """The live order, whoever owns it."""
        order = await self._repository.find(order_id)
        if order is None:
            raise OrderNotFound
        return await self._ready(order, mark, deleted=False)

    async def _ready(self, order: Order, mark: Mark | None, *, deleted: bool) -> Order:
        await self.raise_if_applied(order, mark)
        if order.deleted_at is not None and not deleted:
            raise OrderNotFound
        return order

    async def require_version(self, order: Order, version: int) -> None:
        if order.version != version:
            raise StaleOrder(await self._presenter.order(order))

    async def write(self, order: Order, edit: Edit, by: Author, mark: Mark | None) -> Order:
        """`edit` on exactly the version of `order`; the order afterwards."""
        stamp = self._stamp(by, mark, edit, version=order.version + 1)
        written = await self._repository.apply(order, edit, stamp)
        if written is not None:
            return written
        current = await self._repository.find(order.id)
        await self.raise_if_applied(current, mark)
        if current is None or (current.deleted_at is not None and order.deleted_at is None):
            raise OrderNotFound
        raise StaleOrder(await self._presenter.order(current))

    async def raise_if_applied(self, order: Order | None, mark: Mark | None) -> None:
        if order is None or mark is None or mark.tool_call_id is None:
            return
        applied = await self._repository.mark_of(order.id, mark.tool_call_id)
        if applied:
            raise AlreadyApplied(applied.version, await self._presenter.live(order))

    def _stamp(self, by: Author, mark: Mark | None, edit: Edit, *, version: int) -> HistoryMark:
        given = mark or BY_HAND
        return HistoryMark(given.tool_call_id, by, self._clock.now(), version, given.via, edit.action, edit.changes)
