"""Keyset pages, filters and search."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta

import pytest
from bson import ObjectId

from app.accounts.actors import HumanActor, SystemActor
from app.core.errors import Forbidden, ValidationFailed
from app.work_orders.schemas import OrderFilter, PastOrder, Priority, Status, WorkOrderCreate, WorkOrderPublic
from tests.work_orders.conftest import Yard
from tests.work_orders.people import DISPATCHER, OWNER, STRANGER, VIEWER

ALL = OrderFilter()


async def _walk(yard: Yard, actor: HumanActor, wanted: OrderFilter = ALL, limit: int = 7) -> list[WorkOrderPublic]:
    found: list[WorkOrderPublic] = []
    cursor = None
    while True:
        page = await yard.orders.list_own(actor, wanted, cursor, limit)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _titles(yard: Yard, search: str, actor: HumanActor = OWNER) -> list[str]:
    return [order.title for order in (await yard.orders.list_own(actor, OrderFilter(search=search))).items]


async def test_a_list_holds_only_one_s_own_newest_first(yard: Yard) -> None:
    """WO-2, WO-3."""
    for actor in (OWNER, STRANGER, OWNER):
        await yard.orders.create(actor, WorkOrderCreate(title=f"Order of {actor.id}"))
        yard.clock.advance(timedelta(seconds=1))
    mine = (await yard.orders.list_own(OWNER, ALL)).items
    assert {order.owner.id for order in mine} == {str(OWNER.id)}
    assert [order.created_at for order in mine] == sorted((o.created_at for o in mine), reverse=True)
    everyones = await yard.orders.list_all(VIEWER, ALL)
    assert len(everyones.items) == 3
    assert everyones.next_cursor is None


async def test_everyone_s_orders_are_for_dispatchers_and_viewers(yard: Yard) -> None:
    """ADM, SEC-6."""
    for actor in (OWNER, SystemActor()):
        with pytest.raises(Forbidden):
            await yard.orders.list_all(actor, ALL)


@pytest.mark.parametrize("same_instant", [True, False])
async def test_pages_neither_skip_nor_repeat_while_orders_are_being_created(yard: Yard, same_instant: bool) -> None:
    """WO-3: also where many orders share one millisecond."""
    for number in range(40):
        await yard.orders.create(OWNER, WorkOrderCreate(title=f"Valve {number}"))
        yard.clock.advance(timedelta(milliseconds=0 if same_instant else 1))
    before = {order.id for order in (await yard.orders.list_own(OWNER, ALL, limit=100)).items}
    yard.clock.advance(timedelta(seconds=1))
    stop = asyncio.Event()

    async def keep_creating() -> None:
        while not stop.is_set():
            await yard.orders.create(OWNER, WorkOrderCreate(title="Made meanwhile"))

    creating = asyncio.create_task(keep_creating())
    walked = [order.id for order in await _walk(yard, OWNER)]
    stop.set()
    await creating
    assert len(walked) == len(set(walked))
    assert before <= set(walked)


async def test_a_page_that_ends_exactly_with_the_list_has_no_next_one(yard: Yard) -> None:
    """WO-3: last page `nextCursor: null`."""
    for number in range(4):
        await yard.orders.create(OWNER, WorkOrderCreate(title=f"Valve {number}"))
    first = await yard.orders.list_own(OWNER, ALL, None, 2)
    assert first.next_cursor is not None
    assert (await yard.orders.list_own(OWNER, ALL, first.next_cursor, 2)).next_cursor is None


async def test_a_cursor_that_was_tampered_with_or_belongs_to_another_list_is_refused(yard: Yard) -> None:
    """WO-3: tampering → 400."""
    for number in range(3):
        await yard.orders.create(OWNER, WorkOrderCreate(title=f"Valve {number}"))
    cursor = (await yard.orders.list_own(OWNER, ALL, None, 1)).next_cursor
    assert cursor is not None
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=="))
    raw[-3] ^= 1
    forged = base64.urlsafe_b64encode(bytes(raw)).decode().rstrip("=")
    for bad in (forged, cursor[:-4], "abc", "é", "A" * 400):
        with pytest.raises(ValidationFailed) as caught:
            await yard.orders.list_own(OWNER, ALL, bad)
        assert caught.value.details[0].field == "cursor"
    with pytest.raises(ValidationFailed):
        await yard.orders.list_own(STRANGER, ALL, cursor)
    with pytest.raises(ValidationFailed):
        await yard.orders.list_all(DISPATCHER, ALL, cursor)


async def test_filters_by_status_and_priority_narrow_the_list_page_by_page(yard: Yard) -> None:
    """WO-4."""
    statuses: list[Status] = ["pending", "in_progress", "done"]
    priorities: list[Priority] = ["low", "medium", "high"]
    for number in range(36):
        kind = WorkOrderCreate(title="Valve", status=statuses[number % 3], priority=priorities[number // 3 % 3])
        await yard.orders.create(OWNER, kind)
    done = await _walk(yard, OWNER, OrderFilter(status="done"), limit=5)
    assert [len(done), {order.status for order in done}] == [12, {"done"}]
    high = await _walk(yard, OWNER, OrderFilter(priority="high"), limit=5)
    assert [len(high), {order.priority for order in high}] == [12, {"high"}]
    both = await _walk(yard, OWNER, OrderFilter(status="done", priority="high"), limit=3)
    assert len(both) == 4
    assert [order.id for order in both] == [order.id for order in done if order.priority == "high"]


async def test_search_finds_a_part_of_the_title_in_any_case_and_takes_nothing_for_a_pattern(yard: Yard) -> None:
    """WO-4."""
    titles = [
        "Pump leaks",
        "PUMPE undicht, Straße 5",
        "50% glycol? (check)",
        "a.*b [x] ^$ \\d",
        "Fußbodenheizung",
        "ﬁlter",
    ]
    for title in titles:
        await yard.orders.create(OWNER, WorkOrderCreate(title=title))
        yard.clock.advance(timedelta(seconds=1))
    assert await _titles(yard, "pump") == ["PUMPE undicht, Straße 5", "Pump leaks"]
    assert await _titles(yard, "STRASSE") == ["PUMPE undicht, Straße 5"]
    assert await _titles(yard, "FUSS") == ["Fußbodenheizung"]
    assert await _titles(yard, "Filter") == ["ﬁlter"]
    for pattern in (".*b [x]", "^$ \\d", "(check)", "50% glycol?"):
        assert len(await _titles(yard, pattern)) == 1, pattern
    for pattern in (".*", "^", "p.mp", "[a-z]", "|", "pump|filter", "\\"):
        expected = [title for title in reversed(titles) if pattern in title]
        assert await _titles(yard, pattern) == expected, pattern
    assert await _titles(yard, "mp") == ["PUMPE undicht, Straße 5", "Pump leaks"]
    everyones = await yard.orders.list_all(DISPATCHER, OrderFilter(search="PUMP L"))
    assert [order.title for order in everyones.items] == ["Pump leaks"]


async def test_search_follows_a_changed_title_and_forgets_a_deleted_order(yard: Yard) -> None:
    """WO-4, WO-7."""
    order = await yard.orders.create(OWNER, WorkOrderCreate(title="Pump leaks"))
    await yard.orders.update(OWNER, ObjectId(order.id), 1, {"title": "Valve stuck"})
    assert await _titles(yard, "pump") == []
    assert await _titles(yard, "stuck") == ["Valve stuck"]
    await yard.orders.remove(OWNER, ObjectId(order.id), 2)
    assert await _titles(yard, "stuck") == []
    assert (await yard.orders.list_all(DISPATCHER, OrderFilter(search="stuck"))).items == []


async def test_a_search_goes_through_many_windows_without_skipping_or_repeating(yard: Yard) -> None:
    """WO-3, WO-4: a term without a rare trigram is looked for newest first, in windows."""
    start = yard.clock.now()
    past = [
        PastOrder(
            id=ObjectId(),
            title="Check ok" if number % 50 == 0 else f"Plain {number}",
            description=None,
            priority="low",
            status="pending",
            owner=OWNER.id,
            created_at=start - timedelta(milliseconds=number // 3),
        )
        for number in range(5_000)
    ]
    assert await yard.orders.import_past(past) == 5_000
    assert await yard.orders.import_past(past[:3]) == 0
    wanted = OrderFilter(search="OK")
    found = await _walk(yard, OWNER, wanted, limit=9)
    assert len(found) == len({order.id for order in found}) == 100
    assert [order.created_at for order in found] == sorted((o.created_at for o in found), reverse=True)
    assert len((await yard.orders.list_all(VIEWER, wanted, limit=100)).items) == 100
    common = await yard.orders.list_all(VIEWER, OrderFilter(search="plain"), limit=100)
    assert len(common.items) == 100
    rare = await yard.orders.list_all(VIEWER, OrderFilter(search="plain 4321"))
    assert [order.title for order in rare.items] == ["Plain 4321"]


async def test_a_list_names_all_its_owners_with_one_look_up(yard: Yard) -> None:
    """Architecture, "A page": one query for the list, one for the owners, none per row."""
    for actor in (OWNER, STRANGER, DISPATCHER):
        await yard.orders.create(actor, WorkOrderCreate(title="Valve"))
    yard.cast.lookups = 0
    names = {order.owner.name for order in (await yard.orders.list_all(DISPATCHER, ALL)).items}
    assert names == {"Rosa Lind", "Ivo Brandt", "Dana Holt"}
    assert yard.cast.lookups == 1
