"""Orders and their history as people see them: with names, one query for all of them (HTTP-3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from bson import ObjectId
from msgspec.json import encode

from app.accounts.actors import HumanActor
from app.accounts.people import PersonRef
from app.core.clock import iso_ms
from app.work_orders.schemas import (
    HistoryEntry,
    HistoryMark,
    Order,
    OrderPage,
    WorkOrderDetail,
    WorkOrderPublic,
)


class People(Protocol):
    """How orders name people."""

    async def refs(self, ids: Iterable[ObjectId]) -> Mapping[ObjectId, PersonRef]: ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of orders and the people who own them. `searched_to`: a search was cut short there."""

    orders: list[Order]
    owners: Mapping[ObjectId, PersonRef]
    next_cursor: str | None
    searched_to: datetime | None


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
        owners = await self.owners(orders, asked_by)
        return [_public(order, owners.get(order.owner)) for order in orders]

    async def owners(self, orders: Sequence[Order], asked_by: HumanActor | None = None) -> Mapping[ObjectId, PersonRef]:
        """The person who asks is not looked up a second time: most lists are of one's own orders."""
        owners = {asked_by.id: asked_by.ref} if asked_by and asked_by.ref else {}
        if unknown := {order.owner for order in orders} - owners.keys():
            owners |= await self._people.refs(unknown)
        return owners

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


def page(listed: Listed) -> OrderPage:
    """A list as it is on the wire."""
    return OrderPage(
        items=[_public(order, listed.owners.get(order.owner)) for order in listed.orders],
        next_cursor=listed.next_cursor,
        searched_to=listed.searched_to,
    )


def page_json(listed: Listed) -> bytes:
    """`{success: true, data: page(listed)}`, written at once: that is half the work of a list."""
    owners = {owner: _owner_json(ref) for owner, ref in listed.owners.items()}
    items = [_json(order, owners.get(order.owner) or _owner_json(_former(order.owner))) for order in listed.orders]
    return encode({"success": True, "data": {"items": items, "nextCursor": listed.next_cursor}})


def _json(order: Order, owner: dict[str, str]) -> dict[str, Any]:
    return {
        "id": str(order.id),
        "title": order.title,
        "description": order.description,
        "priority": order.priority,
        "status": order.status,
        "owner": owner,
        "version": order.version,
        "createdAt": iso_ms(order.created_at),
        "updatedAt": iso_ms(order.updated_at),
    }


def _owner_json(ref: PersonRef) -> dict[str, str]:
    return {"id": ref.id, "name": ref.name, "email": ref.email}


def _former(owner: ObjectId) -> PersonRef:
    return PersonRef(id=str(owner), name="Former member", email="")


def _authors(marks: Sequence[HistoryMark]) -> set[ObjectId]:
    return {mark.by for mark in marks if isinstance(mark.by, ObjectId)}


def _public(order: Order, owner: PersonRef | None) -> WorkOrderPublic:
    return WorkOrderPublic(
        id=str(order.id),
        title=order.title,
        description=order.description,
        priority=order.priority,
        status=order.status,
        owner=owner or _former(order.owner),
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
