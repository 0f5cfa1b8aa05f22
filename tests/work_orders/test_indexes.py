"""Every query of work orders is served by an index and examines little more than it returns (DATA-3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from app.core.cursors import Position
from app.core.mongo import Database
from app.work_orders.list_repository import OrderLists
from app.work_orders.repository import OrderRepository
from app.work_orders.schemas import OrderFilter, PastOrder, Priority, Status
from tests.work_orders.people import OWNER, STRANGER

START = datetime(2026, 11, 30, 8, tzinfo=UTC)
STATUSES: list[Status] = ["pending", "in_progress", "done"]
PRIORITIES: list[Priority] = ["low", "medium", "high"]


def _past(number: int) -> PastOrder:
    return PastOrder(
        id=ObjectId(),
        title=f"Pump {number} leaks",
        description=None,
        priority=PRIORITIES[number % 3],
        status=STATUSES[number // 3 % 3],
        owner=OWNER.id if number % 2 else STRANGER.id,
        created_at=START - timedelta(seconds=number),
    )


@pytest.fixture
async def profiled(indexed: Database) -> AsyncIterator[Database]:
    """A thousand orders, and MongoDB's own record of what each query examined."""
    await OrderRepository(indexed).insert_past([_past(number) for number in range(1_000)])
    await indexed.command("profile", 2)
    yield indexed
    await indexed.command("profile", 0)


async def _examined(database: Database) -> tuple[set[str], int, int]:
    """Since the last call: the stages of the plans, and the most keys and documents that one query examined."""
    rows = [
        row
        async for row in database["system.profile"].find(
            {"ns": f"{database.name}.workorders", "op": {"$in": ["query", "command", "getmore", "update"]}}
        )
    ]
    await database.command("profile", 0)
    await database.drop_collection("system.profile")
    await database.command("profile", 2)
    assert rows
    plans = {str(row.get("planSummary")) for row in rows}
    return plans, max(row.get("keysExamined", 0) for row in rows), max(row.get("docsExamined", 0) for row in rows)


LISTS: list[tuple[str, ObjectId | None, OrderFilter, int]] = [
    ("own", OWNER.id, OrderFilter(), 25),
    ("own, by status", OWNER.id, OrderFilter(status="done"), 40),
    ("own, by priority", OWNER.id, OrderFilter(priority="high"), 40),
    ("own, by both", OWNER.id, OrderFilter(status="done", priority="high"), 25),
    ("everyone's", None, OrderFilter(), 25),
    ("everyone's, by status", None, OrderFilter(status="done"), 40),
    ("everyone's, by both", None, OrderFilter(status="done", priority="low"), 25),
    ("everyone's, rare term", None, OrderFilter(search="777"), 5),
    ("everyone's, absent term", None, OrderFilter(search="boiler"), 2),
]


@pytest.mark.parametrize(("_name", "owner", "wanted", "most"), LISTS, ids=[row[0] for row in LISTS])
async def test_a_list_examines_hardly_more_keys_than_it_shows(
    profiled: Database, _name: str, owner: ObjectId | None, wanted: OrderFilter, most: int
) -> None:
    """DATA-3, WO-3, WO-4: on the first page and far down, alone and with the person beside it."""
    beside = {"$unionWith": {"coll": "users", "pipeline": [{"$match": {"_id": OWNER.id}}]}}
    for after, stage in ((None, None), (None, beside), (Position(START - timedelta(seconds=600), ObjectId()), beside)):
        await OrderLists(profiled).page(owner, wanted, after, 20, stage=stage)
        plans, keys, documents = await _examined(profiled)
        assert not any("COLLSCAN" in plan for plan in plans)
        assert keys <= most
        assert documents <= 21


@pytest.mark.parametrize("owner", [OWNER.id, None], ids=["own", "everyone's"])
async def test_a_search_without_a_rare_trigram_reads_titles_from_the_index_alone(
    profiled: Database, owner: ObjectId | None
) -> None:
    """DATA-3: documents are fetched for what is found, not for what is looked through."""
    found = await OrderLists(profiled).page(owner, OrderFilter(search="99"), None, 20)
    plans, keys, documents = await _examined(profiled)
    assert not any("COLLSCAN" in plan for plan in plans)
    assert keys <= 1_001
    assert documents == len(found.rows) <= 20


async def test_what_is_done_to_one_order_goes_by_its_id(profiled: Database) -> None:
    """DATA-3."""
    repository = OrderRepository(profiled)
    row = await profiled["workorders"].find_one({}, sort=[("_id", 1)])
    assert row is not None
    await _examined(profiled)
    await repository.find(row["_id"])
    await repository.history(row["_id"])
    await repository.mark_of(row["_id"], "c" * 24)
    plans, keys, _ = await _examined(profiled)
    assert plans <= {"IDHACK", "IXSCAN { _id: 1 }"}
    assert keys <= 1


async def test_counting_backfilling_and_reconciling_use_their_indexes(profiled: Database) -> None:
    """DATA-3, D-27: with nothing to fold, folding looks at nothing."""
    repository = OrderRepository(profiled)
    assert await repository.fold_some(100) == 0
    assert (await _examined(profiled))[1] == 0
    assert await repository.count() == 1_000
    plans, _, documents = await _examined(profiled)
    assert (any("COLLSCAN" in plan for plan in plans), documents) == (False, 0)
    await repository.owing_events(START - timedelta(seconds=50), START, None, 200)
    plans, keys, _ = await _examined(profiled)
    assert not any("COLLSCAN" in plan for plan in plans)
    assert keys <= 52


async def test_a_search_that_runs_out_of_time_gives_what_it_has_and_goes_on_from_there(indexed: Database) -> None:
    """WO-4, mechanisms: a cut answer says so, and nothing is missed by going on."""
    await OrderRepository(indexed).insert_past([_past(number) for number in range(6_000)])
    hurried = OrderLists(indexed, search_budget_ms=0)
    found, after, cuts = [], None, 0
    while True:
        part = await hurried.page(OWNER.id, OrderFilter(search="99"), after, 200)
        found += [row.id for row in part.rows]
        cuts += part.cut
        after = part.last
        if after is None:
            break
    patient = await OrderLists(indexed).page(OWNER.id, OrderFilter(search="99"), None, 200)
    assert cuts >= 1
    assert found == [row.id for row in patient.rows]
