"""Work orders on a real MongoDB, with a clock that tests move."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from bson import ObjectId

from app.core.clock import ManualClock
from app.core.cursors import Cursors
from app.core.events import Announcements
from app.core.mongo import Database, bind_documents
from app.outbox.models import OutboxEvent
from app.outbox.repository import OutboxRepository
from app.outbox.service import OutboxService
from app.work_orders.assembly import open_work_orders
from app.work_orders.models import WorkOrder
from app.work_orders.schemas import OrderCreated
from app.work_orders.service import WorkOrderService
from tests.work_orders.people import Cast


@dataclass(frozen=True, slots=True)
class Yard:
    """The feature and what stands around it. `nudges`: the orders that the worker was told about."""

    orders: WorkOrderService
    outbox: OutboxService
    cast: Cast
    nudges: list[ObjectId]
    database: Database
    clock: ManualClock


@pytest.fixture
async def indexed(database: Database) -> Database:
    """The database with the indexes of orders and outbox."""
    await bind_documents(database, [WorkOrder, OutboxEvent])
    return database


@pytest.fixture
def yard(indexed: Database) -> Yard:
    clock = ManualClock(datetime(2026, 12, 1, 8, tzinfo=UTC))
    outbox = OutboxService(OutboxRepository(indexed), clock, max_attempts=3)
    cast, announcements, nudges = Cast(), Announcements(), list[ObjectId]()

    async def nudge(event: OrderCreated) -> None:
        nudges.append(event.order_id)

    announcements.on(OrderCreated, nudge)
    orders = open_work_orders(
        indexed,
        outbox=outbox,
        accounts=cast,
        announcements=announcements,
        cursors=Cursors("k" * 40),
        clock=clock,
    )
    return Yard(orders, outbox, cast, nudges, indexed, clock)
