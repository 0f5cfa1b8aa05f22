"""The work-orders feature, put together: called once, where the program is assembled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from bson import ObjectId

from app.accounts.people import PersonRef
from app.core.clock import Clock
from app.core.cursors import Cursors
from app.core.events import Announcements
from app.core.mongo import Database
from app.outbox.service import OutboxService
from app.work_orders.creation_events import CreationEvents
from app.work_orders.list_repository import OrderLists
from app.work_orders.repository import OrderRepository
from app.work_orders.service import WorkOrderService


class Accounts(Protocol):
    """What orders ask about people: their names, and whether AI is on for them."""

    async def refs(self, ids: Iterable[ObjectId]) -> Mapping[ObjectId, PersonRef]: ...

    async def ai_on(self, user_id: ObjectId) -> bool: ...


def open_work_orders(
    database: Database,
    *,
    outbox: OutboxService,
    accounts: Accounts,
    announcements: Announcements,
    cursors: Cursors,
    clock: Clock,
) -> WorkOrderService:
    """Needs the documents bound. Await `backfill()` once before serving a database of an older desk."""
    repository = OrderRepository(database)
    return WorkOrderService(
        repository=repository,
        lists=OrderLists(database),
        events=CreationEvents(repository, outbox, announcements=announcements, clock=clock, ai_on=accounts.ai_on),
        people=accounts,
        cursors=cursors,
        clock=clock,
    )
