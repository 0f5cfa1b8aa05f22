"""The recorded database of the original desk opens unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bson import ObjectId, json_util

from app.accounts.actors import HumanActor
from app.work_orders.schemas import OrderFilter
from tests.work_orders.conftest import Yard
from tests.work_orders.people import DISPATCHER

RECORDED = Path(__file__).resolve().parents[1] / "data" / "wire" / "database.json"


async def _open(yard: Yard) -> list[dict[str, Any]]:
    recorded = json_util.loads(RECORDED.read_text())
    for collection in ("workorders", "outboxevents"):
        await yard.database[collection].insert_many(recorded[collection])
    rows: list[dict[str, Any]] = recorded["workorders"]
    return rows


async def test_recorded_orders_are_listed_found_and_changed_without_losing_a_field(yard: Yard) -> None:
    """DATA-2, DATA-3: search is backfilled, once."""
    rows = await _open(yard)
    live = [row for row in rows if row["deletedAt"] is None]
    assert await yard.orders.backfill() == len(live)
    assert await yard.orders.backfill() == 0
    owner = HumanActor(rows[0]["owner"], "user")
    assert [o.title for o in (await yard.orders.list_own(owner, OrderFilter(search="PUMP"))).items] == [
        "Pump leaks at flange"
    ]
    everyones = (await yard.orders.list_all(DISPATCHER, OrderFilter())).items
    assert {order.id for order in everyones} == {str(row["_id"]) for row in live}
    assert everyones[0].owner.name == "Former member"
    pump = next(row for row in live if row["title"].startswith("Pump"))
    changed = await yard.orders.update(owner, pump["_id"], pump["version"], {"status": "done"})
    assert changed.version == pump["version"] + 1
    stored = await yard.database["workorders"].find_one({"_id": pump["_id"]})
    assert stored is not None
    assert stored.keys() >= pump.keys()


async def test_a_recorded_order_without_history_shows_an_empty_one(yard: Yard) -> None:
    """DATA-2."""
    rows = await _open(yard)
    assert (await yard.orders.detail(DISPATCHER, rows[0]["_id"])).history == []


async def test_an_imported_database_appends_nothing_by_itself_and_its_open_events_are_taken_up(yard: Yard) -> None:
    """D-27, AGT-2."""
    rows = await _open(yard)
    await yard.orders.backfill()
    assert await yard.orders.reconcile_events(60_000) == 0
    claimed = await yard.outbox.claim(10, 15_000)
    assert {ObjectId(event.payload_ref) for event in claimed} <= {row["_id"] for row in rows}
    assert len(claimed) == 4
