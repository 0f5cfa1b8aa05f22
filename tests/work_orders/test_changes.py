"""Creating, changing and deleting: one conditional write each."""

from __future__ import annotations

import asyncio

import pytest
from bson import ObjectId

from app.accounts.actors import Actor, SystemActor
from app.core.errors import Conflict, Forbidden, NotFound
from app.work_orders.models import HISTORY_MAX
from app.work_orders.outcomes import StaleOrder
from app.work_orders.schemas import WorkOrderCreate, WorkOrderPublic
from tests.work_orders.conftest import Yard
from tests.work_orders.people import DISPATCHER, OWNER, STRANGER, VIEWER

PUMP = WorkOrderCreate(title="Pump leaks at flange", description="Seal leaks", priority="low")


async def _pump(yard: Yard) -> tuple[ObjectId, WorkOrderPublic]:
    order = await yard.orders.create(OWNER, PUMP)
    return ObjectId(order.id), order


async def test_a_new_order_is_its_maker_s_at_version_one(yard: Yard) -> None:
    """WO-1, WO-5."""
    order = await yard.orders.create(OWNER, WorkOrderCreate(title="  Door closer broken "))
    assert (order.title, order.description, order.priority, order.status) == (
        "Door closer broken", None, "medium", "pending",
    )  # fmt: skip
    assert (order.version, order.owner.id, order.owner.name) == (1, str(OWNER.id), "Rosa Lind")
    assert await yard.orders.get(OWNER, ObjectId(order.id)) == order


async def test_of_fifty_concurrent_edits_with_one_version_exactly_one_wins(yard: Yard) -> None:
    """WO-6: the rest are told of the conflict, and the version rises by one."""
    order_id, _ = await _pump(yard)
    edits = [yard.orders.update(OWNER, order_id, 1, {"title": f"Pump number {n}"}) for n in range(50)]
    ends = await asyncio.gather(*edits, return_exceptions=True)
    assert len([end for end in ends if isinstance(end, WorkOrderPublic)]) == 1
    assert len([end for end in ends if isinstance(end, StaleOrder)]) == 49
    assert (await yard.orders.get(OWNER, order_id)).version == 2


async def test_a_stale_edit_is_told_how_the_order_is_now(yard: Yard) -> None:
    """WO-6, D-7."""
    order_id, _ = await _pump(yard)
    now = await yard.orders.update(DISPATCHER, order_id, 1, {"priority": "high"})
    with pytest.raises(StaleOrder) as caught:
        await yard.orders.update(OWNER, order_id, 1, {"title": "Pump"})
    assert caught.value.current == now
    assert (caught.value.status, caught.value.code) == (409, "CONFLICT_VERSION")


async def test_an_update_changes_only_what_it_names(yard: Yard) -> None:
    """WO-6."""
    order_id, order = await _pump(yard)
    changed = await yard.orders.update(OWNER, order_id, 1, {"description": None})
    assert changed.description is None
    assert (changed.title, changed.priority, changed.version) == (order.title, order.priority, 2)


async def test_a_deleted_order_is_gone_from_every_read_and_deleting_it_again_is_fine(yard: Yard) -> None:
    """WO-7, WO-10."""
    order_id, _ = await _pump(yard)
    await yard.orders.remove(OWNER, order_id, 1)
    await yard.orders.remove(OWNER, order_id, 1)
    for actor in (OWNER, DISPATCHER, VIEWER):
        with pytest.raises(NotFound):
            await yard.orders.get(actor, order_id)
    with pytest.raises(NotFound):
        await yard.orders.update(OWNER, order_id, 2, {"status": "done"})
    assert await yard.orders.for_triage(order_id) is None
    assert await yard.orders.count() == 0


async def test_a_deletion_of_an_older_version_is_refused(yard: Yard) -> None:
    """WO-7: `version` required."""
    order_id, _ = await _pump(yard)
    await yard.orders.update(OWNER, order_id, 1, {"status": "in_progress"})
    with pytest.raises(StaleOrder):
        await yard.orders.remove(OWNER, order_id, 1)


async def test_an_edit_and_a_deletion_at_once_have_one_winner(yard: Yard) -> None:
    """WO-6, WO-7."""
    for _ in range(10):
        order_id, _ = await _pump(yard)
        edit, removal = await asyncio.gather(
            yard.orders.update(OWNER, order_id, 1, {"status": "done"}),
            yard.orders.remove(OWNER, order_id, 1),
            return_exceptions=True,
        )
        if isinstance(edit, WorkOrderPublic):
            assert isinstance(removal, StaleOrder)
        else:
            assert isinstance(edit, (StaleOrder, NotFound))
            assert removal is None


async def test_a_stranger_s_write_meets_nothing_and_a_viewer_s_is_forbidden(yard: Yard) -> None:
    """WO-6, WO-7, WO-10."""
    order_id, _ = await _pump(yard)
    with pytest.raises(NotFound):
        await yard.orders.get(STRANGER, order_id)
    with pytest.raises(NotFound):
        await yard.orders.update(STRANGER, order_id, 1, {"status": "done"})
    with pytest.raises(NotFound):
        await yard.orders.remove(STRANGER, order_id, 1)
    with pytest.raises(NotFound):
        await yard.orders.history(STRANGER, order_id)
    with pytest.raises(Forbidden):
        await yard.orders.update(VIEWER, order_id, 1, {"status": "done"})
    with pytest.raises(Forbidden):
        await yard.orders.remove(VIEWER, order_id, 1)
    with pytest.raises(Forbidden):
        await yard.orders.create(VIEWER, PUMP)
    assert (await yard.orders.get(VIEWER, order_id)).version == 1


async def test_the_system_actor_is_refused_everywhere_but_at_its_one_entry(yard: Yard) -> None:
    """SEC-6, 003 §4.2."""
    order_id, _ = await _pump(yard)
    system: Actor = SystemActor()
    for attempt in (
        yard.orders.create(system, PUMP),
        yard.orders.get(system, order_id),
        yard.orders.update(system, order_id, 1, {"status": "done"}),
        yard.orders.remove(system, order_id, 1),
        yard.orders.undo(system, order_id, "call"),
        yard.orders.history(system, order_id),
        yard.orders.detail(system, order_id),
    ):
        with pytest.raises(Forbidden):
            await attempt


async def test_the_history_says_who_changed_what_and_how(yard: Yard) -> None:
    """D-5, HTTP-5."""
    order_id, _ = await _pump(yard)
    await yard.orders.update(DISPATCHER, order_id, 1, {"priority": "high", "title": "Pump leaks at flange"})
    newest, oldest = await yard.orders.history(OWNER, order_id)
    assert (oldest.action, oldest.by_name, oldest.version, oldest.via) == ("created", "Rosa Lind", 1, "person")
    assert (newest.action, newest.by_name, newest.version) == ("changed", "Dana Holt", 2)
    assert [(c.field, c.before, c.after) for c in newest.changes] == [("priority", "low", "high")]


async def test_the_history_is_bounded(yard: Yard) -> None:
    """D-5."""
    order_id, _ = await _pump(yard)
    for version in range(1, HISTORY_MAX + 5):
        await yard.orders.update(OWNER, order_id, version, {"status": "done" if version % 2 else "pending"})
    history = await yard.orders.history(OWNER, order_id)
    assert len(history) == HISTORY_MAX
    assert history[0].version == HISTORY_MAX + 5


async def test_fields_that_others_keep_on_an_order_survive_a_change(yard: Yard) -> None:
    """DATA-2: unknown fields survive a read-modify-write."""
    order_id, _ = await _pump(yard)
    await yard.database["workorders"].update_one({"_id": order_id}, {"$set": {"site": {"code": "B-7"}, "__v": 3}})
    await yard.orders.update(OWNER, order_id, 1, {"title": "Pump replaced"})
    row = await yard.database["workorders"].find_one({"_id": order_id})
    assert row is not None
    assert (row["site"], row["__v"], row["version"]) == ({"code": "B-7"}, 3, 2)


async def test_an_id_that_is_taken_is_never_written_over(yard: Yard) -> None:
    """D-5."""
    order_id, order = await _pump(yard)
    with pytest.raises(Conflict):
        await yard.orders.create(STRANGER, WorkOrderCreate(title="Something else"), order_id=order_id)
    assert await yard.orders.get(OWNER, order_id) == order
