"""Orders and their history as people see them: with names, one query for all of them (HTTP-3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.accounts.people import PersonRef
from app.work_orders.schemas import HistoryEntry, HistoryMark, Order, WorkOrderDetail, WorkOrderPublic


class People(Protocol):
    """How orders name people."""

    async def refs(self, ids: Iterable[ObjectId]) -> Mapping[ObjectId, PersonRef]: ...


class Presenter:
    """Turns stored orders into what may leave the desk."""

    def __init__(self, people: People) -> None:
        self._people = people

    async def order(self, order: Order, asked_by: HumanActor | None = None) -> WorkOrderPublic:
        return (await self.orders([order], asked_by))[0]

    async def live(self, order: Order) -> WorkOrderPublic | None:
        """The order, or None when it is deleted."""
        return None if order.deleted_at is not None else await self.order(order)

    async def orders(self, orders: Sequence[Order], asked_by: HumanActor | None = None) -> list[WorkOrderPublic]:
        """The person who asks is not looked up a second time: most lists are of one's own orders."""
        owners = {asked_by.id: asked_by.ref} if asked_by and asked_by.ref else {}
        if unknown := {order.owner for order in orders} - owners.keys():
            owners |= await self._people.refs(unknown)
        return [_public(order, owners.get(order.owner)) for order in orders]

    async def detail(self, order: Order, marks: Sequence[HistoryMark]) -> WorkOrderDetail:
        """The order with its history."""
        people = await self._people.refs({order.owner, *_authors(marks)})
        history = [_entry(mark, people) for mark in reversed(marks)]
        return WorkOrderDetail(**dict(_public(order, people.get(order.owner))), history=history)

    async def history(self, marks: Sequence[HistoryMark]) -> list[HistoryEntry]:
        """Newest first."""
        authors = _authors(marks)
        people = await self._people.refs(authors) if authors else {}
        return [_entry(mark, people) for mark in reversed(marks)]


def _authors(marks: Sequence[HistoryMark]) -> set[ObjectId]:
    return {mark.by for mark in marks if isinstance(mark.by, ObjectId)}


def _public(order: Order, owner: PersonRef | None) -> WorkOrderPublic:
    return WorkOrderPublic(
        id=str(order.id),
        title=order.title,
        description=order.description,
        priority=order.priority,
        status=order.status,
        owner=owner or PersonRef(id=str(order.owner), name="Former member", email=""),
        version=order.version,
        created_at=order.created_at,
        updated_at=order.updated_at,
    )


def _entry(mark: HistoryMark, people: Mapping[ObjectId, PersonRef]) -> HistoryEntry:
    ref = people.get(mark.by) if isinstance(mark.by, ObjectId) else None
    return HistoryEntry(
        by=str(mark.by),
        by_name=ref.name if ref else ("Triage" if mark.by == "system" else "Former member"),
        at=mark.at,
        action=mark.action,
        changes=mark.changes,
        via=mark.via,
        version=mark.version,
        tool_call_id=mark.tool_call_id,
    )
