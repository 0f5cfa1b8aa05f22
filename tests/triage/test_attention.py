"""The attention list: what is flagged, until a person acts on it (AGT-6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from bson import ObjectId

from app.accounts.actors import Actor, SystemActor
from app.core.errors import Forbidden
from app.core.mongo import Database
from app.llm.demo.scripted_model import ScriptedModel
from app.triage.models import NEEDS_A_LOOK
from app.work_orders.schemas import Mark
from tests.conftest import Server, ShiftedClock
from tests.triage.house import House, propose


async def _flagged(house: House, title: str, **fields: Any) -> ObjectId:
    house.model.add(propose(suggestedPriority="high", flagForDispatcher=True))
    order = await house.order(title, **fields)
    await house.triage.claim_and_run()
    return order


async def _titles(house: House) -> list[str]:
    items = await house.desk.triage.attention.items(await house.actor("dispatcher"))
    return [item.order.title for item in items]


async def test_flagged_orders_are_listed_newest_first_and_others_are_not(house: House) -> None:
    """AGT-6, D-13."""
    await _flagged(house, "First")
    house.later(minutes=1)
    house.model.add(propose(suggestedPriority="low"))
    await house.order("Not flagged")
    await house.triage.claim_and_run()
    await _flagged(house, "Second")
    assert await _titles(house) == ["Second", "First"]


async def _apply(house: House, order: ObjectId) -> None:
    await house.suggestions.apply(await house.actor("dispatcher"), (await house.the(order))["_id"])


async def _dismiss(house: House, order: ObjectId) -> None:
    await house.suggestions.dismiss(await house.actor("owner"), (await house.the(order))["_id"])


async def _priority(house: House, order: ObjectId) -> None:
    await house.desk.orders.update(await house.actor(), order, 1, {"priority": "low"})


async def _status(house: House, order: ObjectId) -> None:
    await house.desk.orders.update(await house.actor(), order, 1, {"status": "in_progress"})


async def _delete(house: House, order: ObjectId) -> None:
    await house.desk.orders.remove(await house.actor(), order, 1)


@pytest.mark.parametrize("act", [_apply, _dismiss, _priority, _status, _delete])
async def test_acting_on_the_order_clears_it_for_good(
    house: House, act: Callable[[House, ObjectId], Awaitable[None]]
) -> None:
    """AGT-6: apply, dismiss, a change of priority or status afterwards, deletion."""
    order = await _flagged(house, "Pump")
    await _flagged(house, "Stays")
    house.later(seconds=1)
    await act(house, order)
    assert await _titles(house) == ["Stays"]
    assert (await house.the(order))["actedAt"] is not None
    assert await _titles(house) == ["Stays"]


async def test_a_new_title_or_a_change_by_triage_clears_nothing(house: House) -> None:
    """AGT-6: nobody looked at it yet."""
    order = await _flagged(house, "Pump")
    house.later(seconds=1)
    await house.desk.orders.update(await house.actor(), order, 1, {"title": "Pump P-204"})
    await house.desk.orders.triage_patch(SystemActor(), order, 2, "high", Mark("a" * 24, "triage"))
    assert await _titles(house) == ["Pump P-204"]


async def test_what_triage_applied_by_itself_stays_until_someone_has_seen_it(house: House) -> None:
    """AGT-6, D-14: kept (seen), it goes; what was applied stays applied."""
    await house.policy(mode="auto-apply")
    order = await _flagged(house, "Pump")
    assert (await house.the(order))["appliedBy"] == "system"
    assert await _titles(house) == ["Pump"]
    kept = await house.suggestions.dismiss(await house.actor("dispatcher"), (await house.the(order))["_id"])
    assert (kept.applied, kept.dismissed_at is not None) == (True, True)
    assert await _titles(house) == []
    assert (await house.stored(order))["priority"] == "high"


async def test_it_is_found_beyond_many_that_were_acted_on(house: House) -> None:
    """AGT-6, DATA-3: what was acted on is marked once and leaves the query."""
    await _flagged(house, "Oldest")
    found = await house.the(await _flagged(house, "Copied"))
    copies = [
        found | {"_id": ObjectId(), "workOrderId": ObjectId(), "eventKey": f"k{number}", "createdAt": house.clock.now()}
        for number in range(230)
    ]
    await house.database["triagesuggestions"].insert_many(copies)
    assert await _titles(house) == ["Copied", "Oldest"]
    assert await house.database["triagesuggestions"].count_documents({"actedAt": None}) == 2


@pytest.mark.parametrize("who", ["owner", "viewer"])
async def test_only_a_dispatcher_sees_it(house: House, who: str) -> None:
    """Scenario 3.7."""
    actor: Actor = await house.actor(who)
    with pytest.raises(Forbidden):
        await house.desk.triage.attention.items(actor)


async def test_the_doors_show_it_with_its_order_and_count_it(
    server: Server, model: ScriptedModel, clock: ShiftedClock, database: Database
) -> None:
    """D-30, HTTP-5: JSON pages, the list on the page of all orders, and the count in the rail."""
    house = House(server.desk, model, clock, database)
    for title in ("First", "Second", "Third"):
        await _flagged(house, title)
        house.later(seconds=1)
    dispatcher = await server.sign_in_as("dispatcher")
    data = (await dispatcher.get("/api/v1/admin/attention?limit=2&page=2")).json()["data"]
    assert (data["total"], [item["workOrder"]["title"] for item in data["items"]]) == (3, ["First"])
    assert data["items"][0]["suggestedPriority"] == "high"
    page = (await dispatcher.get("/app/admin/work-orders")).text
    assert 'hx-get="/app/admin/attention?top=3"' in page
    assert '<span class="badge">3<span class="vh"> flagged</span></span>' in page
    partial = {"HX-Request": "true", "HX-Request-Type": "partial"}
    few = (await dispatcher.get("/app/admin/attention?top=2", headers=partial)).text
    assert ("Third" in few, "Second" in few, "First" in few, "All 3 that need" in few) == (True, True, False, True)
    viewer = await server.sign_in_as("viewer")
    assert "/app/admin/attention" not in (await viewer.get("/app/admin/work-orders")).text


async def test_a_list_hints_at_what_triage_suggests_to_those_who_see_the_order(
    server: Server, model: ScriptedModel, clock: ShiftedClock, database: Database
) -> None:
    """AGT-6, WO-10: one request for all rows; nothing where it is the same, decided, or another's."""
    house = House(server.desk, model, clock, database)
    order = await _flagged(house, "Pump", priority="low")
    same = await _flagged(house, "Lamp", priority="high")
    address = f"/app/triage/hints?orders={order},{same},nonsense"
    for who in ("owner", "dispatcher", "viewer"):
        hints = (await (await server.sign_in_as(who)).get(address)).text
        assert (hints.count("Suggests high"), f"#hint-{order}" in hints) == (1, True)
    assert "Suggests" not in (await (await server.sign_in_as("stranger")).get(address)).text
    owner = await server.sign_in_as("owner")
    assert f"/app/triage/hints?orders={same},{order}" in (await owner.get("/app/work-orders")).text
    await _apply(house, order)
    assert "Suggests" not in (await owner.get(address)).text


async def test_its_queries_are_served_by_indexes(house: House) -> None:
    """DATA-3: the list reads what needs a look and nothing else."""
    for number in range(3):
        await _flagged(house, f"Pump {number}")
    suggestions = house.database["triagesuggestions"]
    quiet = await house.the(await _flagged(house, "Template"))
    await suggestions.insert_many(
        [
            quiet | {"_id": ObjectId(), "runId": ObjectId(), "eventKey": f"q{number}", "flagForDispatcher": False}
            for number in range(50)
        ]
    )
    newest = [("createdAt", -1), ("_id", -1)]
    plans = [
        suggestions.find(NEEDS_A_LOOK).sort(newest),
        suggestions.find({"runId": {"$in": [quiet["runId"]]}}),
        suggestions.find({"createdAt": {"$gt": house.clock.now()}}).sort("createdAt", -1),
    ]
    for plan in plans:
        stats = (await plan.explain())["executionStats"]
        assert stats["totalKeysExamined"] <= stats["nReturned"] + 2
        assert stats["totalDocsExamined"] == stats["nReturned"]
