"""`desk worker` as a real process: picked up at once, nothing lost, whatever dies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.core.settings import Settings
from app.desk import open_desk
from app.llm.demo.script import say
from app.local.ports import free_port
from tests.triage.house import House, proposal
from tests.worker.processes import losable_redis, stopped, until, worker_process

# A worker that only polls would take this long: what is picked up sooner was nudged.
SLOW_POLL = {"AGENT_POLL_INTERVAL_MS": "600000"}
QUICK_POLL = {"AGENT_POLL_INTERVAL_MS": "200"}


async def test_an_order_is_triaged_at_once_by_a_nudged_worker(house: House, settings: Settings, tmp_path: Path) -> None:
    """D-24: the nudge wakes the worker; SIGTERM ends it with exit code 0."""
    with worker_process(settings, tmp_path, **SLOW_POLL) as process:
        first = await house.order("Gas smell in the cellar")
        await until(lambda: _has_suggestion(house, first))
        second = await house.order("Paint the fence")
        await until(lambda: _has_suggestion(house, second), 10)
        assert await stopped(process) == 0
    assert (await house.the(first))["suggestedPriority"] == "high"


async def test_a_worker_killed_in_the_middle_loses_nothing(house: House, settings: Settings, tmp_path: Path) -> None:
    """AGT-2: kill -9 during the call; after the lease another worker ends it with exactly one suggestion."""
    order = await house.order()
    never = asyncio.Event()
    house.model.add(say(json.dumps(proposal(summary="Lost.")), before=never))
    with worker_process(settings, tmp_path, **QUICK_POLL) as killed:
        await house.model.received(1, 30)
        assert (await house.event(order))["status"] == "processing"
        killed.kill()
    never.set()
    with worker_process(settings, tmp_path, **QUICK_POLL, AGENT_SWEEP_INTERVAL_MS="200") as process:
        await until(lambda: _is_done(house, order))
        await until(lambda: _all_runs_ended(house))
        assert await stopped(process) == 0
    await house.the(order)
    assert sorted(run["status"] for run in await house.runs()) == ["complete", "error"]
    assert len(house.model.requests) == 2


async def test_a_worker_that_is_asked_to_stop_finishes_what_it_is_at(
    house: House, settings: Settings, tmp_path: Path
) -> None:
    """D-24: graceful stop."""
    order = await house.order()
    gate = asyncio.Event()
    house.model.add(say(json.dumps(proposal()), before=gate))
    with worker_process(settings, tmp_path, **QUICK_POLL) as process:
        await house.model.received(1, 30)
        ending = asyncio.create_task(stopped(process))
        await asyncio.sleep(0)
        gate.set()
        assert await ending == 0
    assert (await house.event(order))["status"] == "done"


async def test_a_worker_that_cannot_finish_gives_the_event_back(
    house: House, settings: Settings, tmp_path: Path
) -> None:
    """D-24: the stop is bounded; the event is due at once, its attempt uncounted, its run over."""
    order = await house.order()
    house.model.add(say(json.dumps(proposal()), before=asyncio.Event()))
    with worker_process(settings, tmp_path, **QUICK_POLL, AGENT_LEASE_MS="60000") as process:
        await house.model.received(1, 30)
        assert await stopped(process) == 0
    event = await house.event(order)
    assert (event["status"], event["attempts"]) == ("pending", 0)
    assert [run["status"] for run in await house.runs()] == ["aborted"]


async def test_losing_redis_ends_neither_the_worker_nor_an_event(
    house: House, settings: Settings, tmp_path: Path
) -> None:
    """D-24: without Redis the timers go on; when it is back, nudges work again."""
    async with losable_redis(tmp_path, free_port()) as redis:
        lost = settings.model_copy(update={"redis_url": redis.url})
        async with open_desk(lost, house.clock) as desk:
            here = House(desk, house.model, house.clock, house.database)
            with worker_process(lost, tmp_path, AGENT_POLL_INTERVAL_MS="1000") as process:
                await until(lambda: _is_triaged(here, "Before"))
                redis.kill()
                await until(lambda: _is_triaged(here, "Without"))
                assert process.poll() is None
                await redis.start()
                await until(lambda: _is_triaged(here, "After"))
                assert await stopped(process) == 0


@pytest.mark.parametrize("overrides", [{"ai_enabled": False}])
async def test_a_worker_without_ai_leaves_events_alone(house: House, settings: Settings, tmp_path: Path) -> None:
    """D-22: it runs, claims nothing, keeps what waits, and makes missing events."""
    order, missing = await house.order(), await house.order("Older order")
    await house.database["outboxevents"].delete_one({"payloadRef": str(missing)})
    before = await house.event(order)
    environment = {**QUICK_POLL, "AI_ENABLED": "false", "AGENT_RECONCILE_AFTER_MS": "1"}
    with worker_process(settings, tmp_path, **environment) as process:
        await until(lambda: _has_event(house, str(missing)))
        assert await stopped(process) == 0
    assert await house.event(order) == before
    assert house.model.requests == []


async def test_several_workers_triage_each_order_once(house: House, settings: Settings, tmp_path: Path) -> None:
    """AGT-2, scenario 3.5: two processes, twenty orders, twenty calls."""
    orders = [await house.order(f"Order number {number}") for number in range(20)]
    with (
        worker_process(settings, tmp_path, **QUICK_POLL) as one,
        worker_process(settings, tmp_path, **QUICK_POLL) as two,
    ):
        await until(lambda: _all_done(house, len(orders)))
        assert [await stopped(one), await stopped(two)] == [0, 0]
    for order in orders:
        await house.the(order)
    assert len(house.model.requests) == len(orders)


async def _has_suggestion(house: House, order: object) -> bool:
    return await house.database["triagesuggestions"].find_one({"workOrderId": order}) is not None


async def _is_triaged(house: House, title: str) -> bool:
    """Whether the order of this title, made when missing, has its suggestion."""
    found = await house.database["workorders"].find_one({"title": title})
    order = found["_id"] if found else await house.order(title)
    return await _has_suggestion(house, order)


async def _is_done(house: House, order: object) -> bool:
    return await house.database["outboxevents"].find_one({"payloadRef": str(order), "status": "done"}) is not None


async def _has_event(house: House, ref: str) -> bool:
    return await house.database["outboxevents"].find_one({"payloadRef": ref}) is not None


async def _all_done(house: House, count: int) -> bool:
    return await house.database["outboxevents"].count_documents({"status": "done"}) == count


async def _all_runs_ended(house: House) -> bool:
    return await house.database["agentruns"].find_one({"status": "running"}) is None
