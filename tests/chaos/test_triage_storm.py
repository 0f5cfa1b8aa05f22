"""Triage under fire: workers that die at random, a thousand events behind the kill switch, a MongoDB that dies."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId

from app.accounts.actors import HumanActor
from app.core.settings import Settings
from app.desk import open_desk
from app.llm.demo.script import Answer, say
from app.llm.demo.scripted_model import ScriptedModel
from app.local.ports import free_port
from app.work_orders.schemas import WorkOrderCreate
from tests.chaos.triage_workers import Worker, Workers, losable_mongo, workers_of
from tests.conftest import ShiftedClock
from tests.triage.house import House, proposal
from tests.worker.processes import until

STORM_S = 22.0
"""How long workers are killed; a person may run a minute."""
ORDERS = 300
ORDERS_A_KILL = max(1, int(ORDERS / STORM_S))
WAITING = 1_000
LANES = 8
PROBES = 3
QUIET_S = 70.0

pytestmark = pytest.mark.timeout(240)  # the waits below end long before, but add up on a busy machine

POLL = timedelta(seconds=1)
LANES_EACH = {"AGENT_CONCURRENCY": str(LANES), "AGENT_POLL_INTERVAL_MS": str(round(POLL.total_seconds() * 1000))}
ROUGH = {
    "AGENT_CONCURRENCY": str(LANES),
    "AGENT_POLL_INTERVAL_MS": "200",
    "AGENT_LEASE_MS": "2000",
    "AGENT_SWEEP_INTERVAL_MS": "500",
    "AGENT_MAX_ATTEMPTS": "50",  # bad luck must not fail an event for good: here every attempt may be shot
}
RICH = {"AGENT_DAILY_SPEND_USD": "100", "AI_GLOBAL_DAILY_SPEND_USD": "100"}
USAGE = (1_000, 100)


def answer(**options: Any) -> Answer:
    return say(json.dumps(proposal()), usage=USAGE, **options)


@pytest.mark.parametrize("overrides", [{"agent_daily_spend_usd": 100, "ai_global_daily_spend_usd": 100}])
async def test_workers_killed_at_random_lose_nothing_and_double_nothing(
    house: House, settings: Settings, tmp_path: Path
) -> None:
    """AGT-2, D-10: one suggestion for each order, no more calls than attempts, and all of them paid for."""
    await house.policy(dailyActionCap=100_000)
    house.model.add(*[answer()] * (4 * ORDERS))
    with workers_of(settings, tmp_path, **ROUGH, **RICH) as workers:
        made = await _storm(house, workers)
        await _orders(house, ORDERS - made)
        await _all_done(house, ORDERS)
    attempts = sum([event["attempts"] async for event in house.database["outboxevents"].find()])
    assert attempts > ORDERS, "the storm hit nobody at work"
    assert ORDERS <= len(house.model.requests) <= attempts
    await _assert_one_suggestion_each(house, ORDERS)
    billed = len(house.model.requests) * _price_usd(settings)
    assert sum([day["spentUsd"] async for day in house.database["agentspends"].find()]) >= billed - 1e-9


@pytest.mark.parametrize("overrides", [{"agent_daily_spend_usd": 100, "ai_global_daily_spend_usd": 100}])
async def test_a_thousand_events_wait_behind_the_switch_and_are_all_done_afterwards(
    house: House, settings: Settings, tmp_path: Path
) -> None:
    """AGT-9, D-18, scenario 3.3: off: within a poll interval no claim, no call, no write; on: all are done."""
    await house.policy(dailyActionCap=100_000)
    await _copies(house, await house.order(), WAITING - 1)
    dispatcher, gate, in_work = await house.actor("dispatcher"), asyncio.Event(), 2 * LANES
    house.model.add(*[answer(before=gate)] * in_work, *[answer()] * (2 * WAITING))
    with workers_of(settings, tmp_path, **LANES_EACH, **RICH, AGENT_LEASE_MS="60000") as workers:
        workers.start()
        workers.start()
        await house.model.received(in_work, 60)
        await house.desk.triage.oversight.switch(dispatcher, "triage", on=False)
        off = house.clock.now()
        gate.set()
        await until(lambda: _all_wait(house, WAITING))
        before = await _everything(house)
        assert max(event["claimedAt"] for event in before["outboxevents"].values() if event["claimedAt"]) <= off + POLL
        assert before["triagesuggestions"] == {}
        assert {run["status"] for run in before["agentruns"].values()} == {"aborted"}

        probes = [await _parked_order(house) for _ in range(PROBES)]
        _assert_frozen(before, await _everything(house), probes)
        assert len(house.model.requests) == in_work

        await house.desk.triage.oversight.switch(dispatcher, "triage", on=True)
        await _all_done(house, WAITING + PROBES)
    await _assert_one_suggestion_each(house, WAITING + PROBES)
    assert len(house.model.requests) == in_work + WAITING + PROBES


async def test_a_mongodb_that_dies_and_comes_back_loses_nothing(
    model: ScriptedModel, clock: ShiftedClock, settings: Settings, tmp_path: Path
) -> None:
    """AGT-1, AGT-2: kill -9 of the database, twice, with events in work; the worker lives on and all are done."""
    orders, at_once, gate = 60, 10, asyncio.Event()
    model.add(*[answer()] * at_once, *[answer(before=gate)] * LANES, *[answer()] * (4 * orders))
    async with losable_mongo(tmp_path, free_port()) as mongo:
        own = settings.model_copy(update={"mongodb_uri": mongo.uri})
        async with open_desk(own, clock) as desk:
            house = House(desk, model, clock, desk.database)
            await _orders(house, orders)
            with workers_of(own, tmp_path, **ROUGH, **RICH) as workers:
                worker = workers.start()
                await model.received(at_once + LANES, 60)
                mongo.kill()
                gate.set()
                await until(lambda: _has_failed(worker))
                await mongo.start()
                await model.received(at_once + LANES + 5, 60)
                mongo.kill()
                await mongo.start()
                await _all_done(house, orders)
                assert worker.process.poll() is None
            await _assert_one_suggestion_each(house, orders)


async def _storm(house: House, workers: Workers) -> int:
    """Orders come in, and about every second one of two workers dies at work and is replaced; how many orders."""
    running, made, chance = [workers.start(), workers.start()], 0, random.Random()
    end = asyncio.get_running_loop().time() + STORM_S
    while made < ORDERS and asyncio.get_running_loop().time() < end:
        made += await _orders(house, min(ORDERS_A_KILL, ORDERS - made))
        await until(lambda: _is_at_work(house, running))
        await asyncio.sleep(chance.uniform(0, 0.2))
        victim = chance.choice([worker for worker in running if worker.works])
        victim.kill()
        running[running.index(victim)] = workers.start()
        await asyncio.sleep(chance.uniform(0.3, 1.0))
    return made


async def _orders(house: House, count: int) -> int:
    actor = await house.actor()
    await asyncio.gather(*(_order(house, actor, number) for number in range(count)))
    return count


async def _order(house: House, actor: HumanActor, number: int) -> ObjectId:
    created = await house.desk.orders.create(actor, WorkOrderCreate(title=f"Pump {number} leaks"))
    return ObjectId(created.id)


async def _copies(house: House, first: ObjectId, count: int) -> None:
    """So many more orders like the first, each with its event."""
    order, event = await house.stored(first), await house.event(first)
    ids = [ObjectId() for _ in range(count)]
    await house.database["workorders"].insert_many([order | {"_id": one} for one in ids])
    await house.database["outboxevents"].insert_many(
        [event | {"_id": ObjectId(), "payloadRef": str(one)} for one in ids]
    )


async def _parked_order(house: House) -> ObjectId:
    """A new order, once a worker's timer has put its event with those that wait: a poll interval went by."""
    order = await house.order()

    async def parked() -> bool:
        return (await house.event(order)).get("waitReason") == "switched_off"

    await until(parked)
    return order


async def _is_at_work(house: House, running: Sequence[Worker]) -> bool:
    """Whether a worker is there and has something in its hands, or had it all done before we could look."""
    events = house.database["outboxevents"]
    if not any(worker.works for worker in running):
        return False
    if await events.find_one({"status": "processing"}) is not None:
        return True
    return await events.find_one({"status": {"$ne": "done"}}) is None


async def _all_done(house: House, count: int) -> None:
    """Returns when so many events are done and no run works any more."""

    async def quiet() -> bool:
        done = await house.database["outboxevents"].count_documents({"status": "done"})
        return done == count and await house.database["agentruns"].find_one({"status": "running"}) is None

    await until(quiet, QUIET_S)


async def _all_wait(house: House, count: int) -> bool:
    waiting = {"status": "pending", "waitReason": "switched_off", "attempts": 0}
    return await house.database["outboxevents"].count_documents(waiting) == count


async def _has_failed(worker: Worker) -> bool:
    return worker.has_logged("triage_lane_failed")


async def _everything(house: House) -> dict[str, dict[Any, dict[str, Any]]]:
    """All rows of the database by collection and id."""
    names = [name for name in await house.database.list_collection_names() if not name.startswith("system.")]
    return {name: {row["_id"]: row async for row in house.database[name].find()} for name in names}


def _assert_frozen(
    before: dict[str, dict[Any, dict[str, Any]]], after: dict[str, dict[Any, dict[str, Any]]], probes: list[ObjectId]
) -> None:
    """Nothing but the probes and their waiting events came in, and nothing changed."""
    refs = {str(probe) for probe in probes}
    for name, rows in after.items():
        old = {key: row for key, row in rows.items() if key not in probes and row.get("payloadRef") not in refs}
        assert old == before[name], name
    new = [row for row in after["outboxevents"].values() if row["payloadRef"] in refs]
    assert [(row["status"], row["attempts"]) for row in new] == [("pending", 0)] * len(probes)


async def _assert_one_suggestion_each(house: House, count: int) -> None:
    """As many events, all done; one suggestion for each order, by at most one run that completed.

    A run whose process died between its suggestion and its end is ended by the sweep: then none completed.
    """
    orders = {row["_id"] async for row in house.database["workorders"].find({}, {"_id": 1})}
    suggested = [row["workOrderId"] async for row in house.database["triagesuggestions"].find()]
    assert (len(suggested), set(suggested)) == (count, orders)
    events = [event async for event in house.database["outboxevents"].find()]
    assert {event["payloadRef"] for event in events} == {str(order) for order in orders}
    assert {(event["status"], event["outcome"]) for event in events} == {("done", "done")}
    complete = [run["workOrderId"] for run in await house.runs() if run["status"] == "complete"]
    assert len(complete) == len(set(complete))


def _price_usd(settings: Settings) -> float:
    prices = settings.ai_price_per_1m_input, settings.ai_price_per_1m_output
    return sum(tokens * price for tokens, price in zip(USAGE, prices, strict=True)) / 1_000_000
