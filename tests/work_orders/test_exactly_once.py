"""Marks: a retried call recognises its own effect, and what it did can be taken back."""

from __future__ import annotations

import asyncio

import pytest
from bson import ObjectId

from app.accounts.actors import SystemActor
from app.core.errors import Conflict, Forbidden, NotFound
from app.work_orders.errors import UndoOutOfDate
from app.work_orders.outcomes import AlreadyApplied, StaleOrder
from app.work_orders.schemas import Mark, OrderFilter, WorkOrderCreate, WorkOrderPublic
from tests.work_orders.conftest import Yard
from tests.work_orders.people import DISPATCHER, OWNER, STRANGER

PUMP = WorkOrderCreate(title="Pump leaks at flange", priority="low")
CALL, UNDO = Mark("c" * 24, "copilot"), Mark("d" * 24, "undo")
SYSTEM = SystemActor()


async def _pump(yard: Yard) -> ObjectId:
    return ObjectId((await yard.orders.create(OWNER, PUMP)).id)


async def test_an_approved_update_tried_by_many_at_once_happens_once(yard: Yard) -> None:
    """D-5: recoverers race, one effect; the others learn that it is done."""
    order_id = await _pump(yard)
    tries = [yard.orders.update(OWNER, order_id, 1, {"priority": "high"}, mark=CALL) for _ in range(20)]
    ends = await asyncio.gather(*tries, return_exceptions=True)
    assert len([end for end in ends if isinstance(end, WorkOrderPublic)]) == 1
    applied = [end for end in ends if isinstance(end, AlreadyApplied)]
    assert len(applied) == 19
    assert {end.version for end in applied} == {2}
    assert (await yard.orders.get(OWNER, order_id)).version == 2
    assert await yard.orders.was_applied(order_id, "c" * 24)


async def test_a_retry_recognises_its_effect_though_the_order_moved_on_or_is_gone(yard: Yard) -> None:
    """D-5: a mark is found on the order, deleted or not."""
    order_id = await _pump(yard)
    await yard.orders.update(OWNER, order_id, 1, {"priority": "high"}, mark=CALL)
    await yard.orders.update(DISPATCHER, order_id, 2, {"status": "done"})
    with pytest.raises(AlreadyApplied) as moved:
        await yard.orders.update(OWNER, order_id, 1, {"priority": "high"}, mark=CALL)
    assert moved.value.current is not None
    assert (moved.value.version, moved.value.current.version) == (2, 3)
    await yard.orders.remove(DISPATCHER, order_id, 3)
    with pytest.raises(AlreadyApplied) as gone:
        await yard.orders.update(OWNER, order_id, 1, {"priority": "high"}, mark=CALL)
    assert gone.value.current is None
    assert await yard.orders.was_applied(order_id, "c" * 24)
    assert not await yard.orders.was_applied(order_id, "e" * 24)


async def test_a_call_on_an_order_that_changed_or_went_before_it_ran_says_so(yard: Yard) -> None:
    """D-7: stale, or gone; never a blind write."""
    order_id = await _pump(yard)
    await yard.orders.update(DISPATCHER, order_id, 1, {"status": "done"})
    with pytest.raises(StaleOrder):
        await yard.orders.update(OWNER, order_id, 1, {"priority": "high"}, mark=CALL)
    await yard.orders.remove(DISPATCHER, order_id, 2)
    with pytest.raises(NotFound):
        await yard.orders.update(OWNER, order_id, 2, {"priority": "high"}, mark=CALL)
    with pytest.raises(NotFound):
        await yard.orders.remove(OWNER, order_id, 2, mark=CALL)


async def test_an_approved_deletion_tried_again_is_recognised(yard: Yard) -> None:
    """D-5."""
    order_id = await _pump(yard)
    await yard.orders.remove(OWNER, order_id, 1, mark=CALL)
    with pytest.raises(AlreadyApplied):
        await yard.orders.remove(OWNER, order_id, 1, mark=CALL)


async def test_a_creation_whose_id_was_fixed_beforehand_happens_once(yard: Yard) -> None:
    """D-5: and a retry makes sure of the event that a crash may have cost (AGT-1)."""
    order_id = ObjectId()
    tries = [yard.orders.create(OWNER, PUMP, order_id=order_id, mark=CALL) for _ in range(10)]
    ends = await asyncio.gather(*tries, return_exceptions=True)
    assert len([end for end in ends if isinstance(end, WorkOrderPublic)]) == 1
    assert len([end for end in ends if isinstance(end, AlreadyApplied)]) == 9
    await yard.database["outboxevents"].delete_many({})
    with pytest.raises(AlreadyApplied):
        await yard.orders.create(OWNER, PUMP, order_id=order_id, mark=CALL)
    assert await yard.outbox.find("work_order.created", str(order_id)) is not None
    assert await yard.orders.count() == 1


async def test_another_call_s_creation_is_not_taken_for_one_s_own(yard: Yard) -> None:
    """D-5."""
    order_id = ObjectId()
    await yard.orders.create(OWNER, PUMP, order_id=order_id, mark=CALL)
    with pytest.raises(Conflict):
        await yard.orders.create(OWNER, PUMP, order_id=order_id, mark=Mark("e" * 24, "copilot"))


async def test_an_update_is_undone_to_what_it_was_and_the_undo_is_itself_a_mark(yard: Yard) -> None:
    """D-30, section 7."""
    order_id = await _pump(yard)
    await yard.orders.update(OWNER, order_id, 1, {"priority": "high", "title": "Pump gone"}, mark=CALL)
    undone = await yard.orders.undo(OWNER, order_id, "c" * 24, mark=UNDO)
    assert undone is not None
    assert (undone.priority, undone.title, undone.version) == ("low", PUMP.title, 3)
    newest = (await yard.orders.history(OWNER, order_id))[0]
    assert (newest.via, newest.tool_call_id) == ("undo", "d" * 24)
    with pytest.raises(AlreadyApplied):
        await yard.orders.undo(OWNER, order_id, "c" * 24, mark=UNDO)
    with pytest.raises(UndoOutOfDate):
        await yard.orders.undo(OWNER, order_id, "c" * 24)
    assert [o.id for o in (await yard.orders.list_own(OWNER, OrderFilter(search="LEAKS"))).items] == [str(order_id)]


async def test_an_undone_creation_is_deleted_and_an_undone_deletion_is_back_and_found_again(yard: Yard) -> None:
    """D-30."""
    order_id = ObjectId()
    await yard.orders.create(OWNER, PUMP, order_id=order_id, mark=CALL)
    assert await yard.orders.undo(OWNER, order_id, "c" * 24, mark=UNDO) is None
    assert (await yard.orders.list_own(OWNER, OrderFilter(search="pump"))).items == []
    back = await yard.orders.undo(OWNER, order_id, "d" * 24)
    assert back is not None
    assert (await yard.orders.list_own(OWNER, OrderFilter(search="pump"))).items == [back]
    assert back.version == 3


async def test_an_undo_is_refused_once_anything_happened_since(yard: Yard) -> None:
    """D-30: 409 when the order moved on."""
    order_id = await _pump(yard)
    await yard.orders.update(OWNER, order_id, 1, {"priority": "high"}, mark=CALL)
    await yard.orders.update(DISPATCHER, order_id, 2, {"status": "done"})
    with pytest.raises(UndoOutOfDate) as caught:
        await yard.orders.undo(OWNER, order_id, "c" * 24, mark=UNDO)
    assert (caught.value.status, caught.value.code) == (409, "CONFLICT_VERSION")
    with pytest.raises(UndoOutOfDate):
        await yard.orders.undo(OWNER, order_id, "e" * 24, mark=UNDO)
    with pytest.raises(NotFound):
        await yard.orders.undo(STRANGER, order_id, "c" * 24, mark=UNDO)


async def test_two_undos_at_once_undo_once(yard: Yard) -> None:
    """D-30."""
    order_id = await _pump(yard)
    await yard.orders.update(OWNER, order_id, 1, {"priority": "high"}, mark=CALL)
    ends = await asyncio.gather(
        yard.orders.undo(OWNER, order_id, "c" * 24, mark=UNDO),
        yard.orders.undo(DISPATCHER, order_id, "c" * 24, mark=Mark("f" * 24, "undo")),
        return_exceptions=True,
    )
    assert len([end for end in ends if isinstance(end, WorkOrderPublic)]) == 1
    assert (await yard.orders.get(OWNER, order_id)).version == 3


async def test_triage_sets_only_the_priority_and_an_admin_undoes_it(yard: Yard) -> None:
    """SEC-6, AGT-7, D-14."""
    order_id = await _pump(yard)
    mark = Mark("a" * 24, "triage")
    patched = await yard.orders.triage_patch(SYSTEM, order_id, 1, "high", mark)
    assert (patched.priority, patched.version, patched.title) == ("high", 2, PUMP.title)
    newest = (await yard.orders.history(OWNER, order_id))[0]
    assert (newest.by, newest.by_name, newest.via) == ("system", "Triage", "triage")
    with pytest.raises(AlreadyApplied):
        await yard.orders.triage_patch(SYSTEM, order_id, 1, "high", mark)
    undone = await yard.orders.undo(DISPATCHER, order_id, "a" * 24, mark=UNDO)
    assert undone is not None
    assert undone.priority == "low"


async def test_triage_writes_nothing_when_the_priority_is_that_already_or_the_order_changed(yard: Yard) -> None:
    """D-14, scenario 3.6: what a person changed stays."""
    order_id = await _pump(yard)
    assert (await yard.orders.triage_patch(SYSTEM, order_id, 1, "low", Mark(None, "triage"))).version == 1
    await yard.orders.update(OWNER, order_id, 1, {"priority": "medium"})
    with pytest.raises(StaleOrder):
        await yard.orders.triage_patch(SYSTEM, order_id, 1, "high", Mark(None, "triage"))
    with pytest.raises(NotFound):
        await yard.orders.triage_patch(SYSTEM, ObjectId(), 1, "high", Mark(None, "triage"))


async def test_nobody_but_the_system_gets_in_by_triage_s_entry(yard: Yard) -> None:
    """SEC-6."""
    order_id = await _pump(yard)
    for human in (OWNER, DISPATCHER):
        with pytest.raises(Forbidden):
            await yard.orders.triage_patch(human, order_id, 1, "high", Mark(None, "triage"))
