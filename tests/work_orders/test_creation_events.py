"""Every new order has its outbox event, once, whatever fails between."""

from __future__ import annotations

from datetime import timedelta

from bson import ObjectId
from pymongo.errors import AutoReconnect

from app.core.events import Announcements
from app.outbox.service import OutboxService
from app.work_orders.creation_events import ORDER_CREATED, CreationEvents
from app.work_orders.repository import OrderRepository
from app.work_orders.schemas import Order, OrderCreated, PastOrder, WorkOrderCreate
from tests.work_orders.conftest import Yard
from tests.work_orders.people import OWNER, STRANGER

PUMP = WorkOrderCreate(title="Pump leaks at flange")
MINUTE_MS = 60_000


async def _pump(yard: Yard) -> ObjectId:
    return ObjectId((await yard.orders.create(OWNER, PUMP)).id)


async def test_a_created_order_appends_its_event_and_wakes_the_worker(yard: Yard) -> None:
    """AGT-1, D-24, D-27."""
    order_id = await _pump(yard)
    event = await yard.outbox.find(ORDER_CREATED, str(order_id))
    assert event is not None
    assert (event.status, event.type, event.payload_ref) == ("pending", "work_order.created", str(order_id))
    assert yard.nudges == [order_id]


async def test_the_order_of_a_person_without_ai_gets_its_event_settled_and_wakes_nobody(yard: Yard) -> None:
    """D-27, SEC-8."""
    yard.cast.opted_out.add(OWNER.id)
    event = await yard.outbox.find(ORDER_CREATED, str(await _pump(yard)))
    assert event is not None
    assert (event.status, event.outcome) == ("done", "skipped")
    assert yard.nudges == []
    assert await yard.outbox.claim(1, 15_000) == []


async def test_reconcile_makes_the_event_that_a_crash_cost_once_and_not_too_early(yard: Yard) -> None:
    """AGT-1, D-27: orders of the last 7 days, older than the given time."""
    order_id, other = await _pump(yard), await yard.orders.create(STRANGER, PUMP)
    yard.cast.opted_out.add(STRANGER.id)
    await yard.database["outboxevents"].delete_many({})
    assert await yard.orders.reconcile_events(MINUTE_MS) == 0
    yard.clock.advance(timedelta(minutes=2))
    assert await yard.orders.reconcile_events(MINUTE_MS) == 2
    assert await yard.orders.reconcile_events(MINUTE_MS) == 0
    (event,) = await yard.outbox.claim(5, 15_000)
    assert event.payload_ref == str(order_id)
    skipped = await yard.outbox.find(ORDER_CREATED, other.id)
    assert skipped is not None
    assert skipped.outcome == "skipped"


async def test_reconcile_leaves_old_deleted_and_seeded_orders_alone(yard: Yard) -> None:
    """D-27: seeding appends nothing, then or later."""
    await _pump(yard)
    yard.clock.advance(timedelta(days=8))
    deleted = await _pump(yard)
    await yard.orders.remove(OWNER, deleted, 1)
    seeded = PastOrder(
        id=ObjectId(), title="Seeded", description=None, priority="low", status="pending", owner=OWNER.id,
        created_at=yard.clock.now() - timedelta(days=1),
    )  # fmt: skip
    await yard.orders.import_past([seeded])
    await yard.database["outboxevents"].delete_many({})
    yard.clock.advance(timedelta(minutes=2))
    assert await yard.orders.reconcile_events(MINUTE_MS) == 0


async def test_reconcile_goes_through_more_orders_than_one_batch(yard: Yard) -> None:
    """AGT-1: also where many share one millisecond."""
    for _ in range(430):
        await yard.orders.create(OWNER, PUMP)
    await yard.database["outboxevents"].delete_many({})
    yard.clock.advance(timedelta(minutes=2))
    assert await yard.orders.reconcile_events(MINUTE_MS) == 430


async def test_an_order_whose_event_could_not_be_stored_is_created_all_the_same(yard: Yard) -> None:
    """AGT-1, DATA-1: two writes; the second one is mended later, the person's order is not refused."""

    class Broken(OutboxService):
        async def append(self, type: str, payload_ref: str, *, settled: str | None = None) -> bool:  # noqa: A002
            raise AutoReconnect("connection closed")

    told: list[OrderCreated] = []
    announcements = Announcements()

    async def hear(event: OrderCreated) -> None:
        told.append(event)

    announcements.on(OrderCreated, hear)
    events = CreationEvents(
        OrderRepository(yard.database),
        Broken.__new__(Broken),
        announcements=announcements,
        clock=yard.clock,
        ai_on=yard.cast.ai_on,
    )
    now = yard.clock.now()
    await events.emit(Order(ObjectId(), "Pump", None, "low", "pending", OWNER.id, 1, now, now))
    assert told == []


async def test_a_nudge_that_fails_costs_nothing(yard: Yard) -> None:
    """D-24: losing Redis loses no event."""
    announcements = Announcements()

    async def no_redis(_: OrderCreated) -> None:
        raise ConnectionError

    announcements.on(OrderCreated, no_redis)
    events = CreationEvents(
        OrderRepository(yard.database),
        yard.outbox,
        announcements=announcements,
        clock=yard.clock,
        ai_on=yard.cast.ai_on,
    )
    now, order_id = yard.clock.now(), ObjectId()
    await events.emit(Order(order_id, "Pump", None, "low", "pending", OWNER.id, 1, now, now))
    assert await yard.outbox.find(ORDER_CREATED, str(order_id)) is not None
