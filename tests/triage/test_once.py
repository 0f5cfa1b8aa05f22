"""One suggestion per event, whatever dies, however many work (AGT-2, D-5, scenario 3.5)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from app.core.settings import Settings
from app.desk import open_desk
from app.llm.demo.script import say
from app.outbox.service import OutboxService
from app.runs.models import Step
from app.runs.rows import NewRun
from app.triage.repository import SuggestionRepository
from app.triage.schemas import DrainCounts
from app.work_orders.creation_events import ORDER_CREATED
from tests.triage.house import House, proposal, propose


async def test_concurrent_drains_never_do_an_event_twice(house: House) -> None:
    """AGT-2: six drains at once, thirty orders: thirty calls, thirty suggestions."""
    orders = [await house.order(f"Order number {number}") for number in range(30)]
    counts = await asyncio.gather(*(house.triage.claim_and_run() for _ in range(6)))
    assert sum(count.done for count in counts) == sum(count.total for count in counts) == 30
    assert len(house.model.requests) == 30
    for order in orders:
        await house.the(order)


@pytest.mark.parametrize("overrides", [{"agent_concurrency": 2}])
async def test_no_more_is_claimed_than_there_is_room_to_run(house: House) -> None:
    """AGT-2, SEC-9: two at work, the rest unclaimed."""
    for number in range(5):
        await house.order(f"Order number {number}")
    gate = asyncio.Event()
    house.model.add(*[say(json.dumps(proposal()), before=gate)] * 2)
    draining = asyncio.create_task(house.triage.claim_and_run())
    await house.model.received(2)
    counts = await house.desk.outbox.counts()
    assert (counts.processing, counts.pending) == (2, 3)
    gate.set()
    assert await asyncio.wait_for(draining, 20) == DrainCounts(done=5)


async def test_a_limit_bounds_a_drain(house: House) -> None:
    """AGT-2: backpressure."""
    for number in range(4):
        await house.order(f"Order number {number}")
    assert (await house.triage.claim_and_run(3)).total == 3


async def test_a_lapsed_lease_is_taken_over_and_the_first_worker_writes_nothing_more(house: House) -> None:
    """AGT-2, D-1: the answer of the worker that lost its lease comes late; one suggestion, the other's."""
    order = await house.order()
    gate = asyncio.Event()
    house.model.add(say(json.dumps(proposal(summary="Late.")), before=gate), propose(summary="In time."))
    event = (await house.desk.outbox.claim(1, 15_000))[0]
    late = asyncio.create_task(house.triage.run_event(event))
    await house.model.received(1)
    house.later(seconds=16)
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    gate.set()
    result = await asyncio.wait_for(late, 20)
    assert result.outcome == "waiting"
    assert (await house.the(order))["summary"] == "In time."
    assert (await house.event(order))["status"] == "done"


@pytest.mark.parametrize("overrides", [{"agent_lease_ms": 300}])
async def test_a_long_call_keeps_its_lease(house: House) -> None:
    """AGT-2: heartbeats, every third of the lease; nobody else gets the event."""
    order = await house.order()
    gate = asyncio.Event()
    house.model.add(say(json.dumps(proposal()), before=gate))
    draining = asyncio.create_task(house.triage.claim_and_run())
    await house.model.received(1)
    first = (await house.event(order))["leasedUntil"]
    async with asyncio.timeout(10):
        while (await house.event(order))["leasedUntil"] <= first:  # noqa: ASYNC110 - a heartbeat
            await asyncio.sleep(0.02)
    assert (await house.triage.claim_and_run()).total == 0
    gate.set()
    assert await asyncio.wait_for(draining, 20) == DrainCounts(done=1)


async def test_a_crash_before_the_suggestion_costs_a_call_and_nothing_else(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-24: the database fails as the suggestion is stored; after the lease the event ends with one suggestion."""
    order = await house.order()
    _fail_once(monkeypatch, SuggestionRepository, "insert")
    event = (await house.desk.outbox.claim(1, 15_000))[0]
    with pytest.raises(AutoReconnect):
        await house.triage.run_event(event)
    assert (await house.event(order))["status"] == "processing"
    house.later(seconds=16)
    assert await house.triage.sweep() == 1
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    await house.the(order)
    assert sorted(run["status"] for run in await house.runs()) == ["complete", "error"]


async def test_a_run_that_died_before_its_first_answer_keeps_its_transcript(house: House) -> None:
    """SEC-11: its messages are copied with its first answer, or by the sweep that ends it."""
    said = [Step(role=role, content=f"As the {role}.", at=house.clock.now()) for role in ("system", "user")]
    run = await house.desk.runs.start(NewRun(mode="autonomous", model="demo", first=said, agent_name="triage"))
    assert await house.desk.runs.messages_of([run.id]) == []
    house.later(seconds=16)
    assert await house.triage.sweep() == 1
    kept = await house.desk.runs.messages_of([run.id])
    assert [message.content for message in kept] == ["As the system.", "As the user."]


async def test_a_crash_after_the_suggestion_asks_the_model_no_more(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scenario 3.5: the suggestion is looked up before the call."""
    order = await house.order()
    _fail_once(monkeypatch, OutboxService, "done")
    event = (await house.desk.outbox.claim(1, 15_000))[0]
    with pytest.raises(AutoReconnect):
        await house.triage.run_event(event)
    house.later(seconds=16)
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    await house.the(order)
    assert len(house.model.requests) == 1
    assert (await house.event(order))["status"] == "done"


async def test_an_event_that_kills_every_worker_is_failed_in_the_end(house: House) -> None:
    """AGT-5, scenario 3.4: nothing circles for ever, nothing runs past its lease."""
    order = await house.order()
    for _ in range(3):
        await house.desk.outbox.claim(1, 15_000)
        house.later(seconds=16)
    assert (await house.triage.claim_and_run()).total == 0
    event = await house.event(order)
    assert event["status"] == "failed"
    assert "stopped or lost its lease" in event["lastError"]


async def test_triggers_reconcile_and_drains_at_once_make_one_suggestion(house: House, settings: Settings) -> None:
    """Scenario 3.5: two desks, manual triggers, reconcile and drains together."""
    order = await house.order()
    async with open_desk(settings, house.clock) as other:
        await asyncio.gather(
            house.triage.claim_and_run(),
            other.triage.triage.claim_and_run(),
            *(house.triage.trigger(order) for _ in range(3)),
            *(other.triage.triage.trigger(order) for _ in range(3)),
            house.triage.reconcile(1),
            other.triage.triage.reconcile(1),
        )
    await house.the(order)
    assert len(house.model.requests) == 1
    assert await house.database["outboxevents"].count_documents({}) == 1


async def test_an_order_whose_event_was_lost_is_triaged_after_reconcile(house: House) -> None:
    """AGT-1, D-27: a crash between order and event."""
    order = await house.order()
    await house.database["outboxevents"].delete_many({})
    assert await house.triage.reconcile(60_000) == 0
    house.later(minutes=2)
    assert await house.triage.reconcile(60_000) == 1
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    await house.the(order)


async def test_an_event_re_made_for_a_triaged_order_makes_no_second_suggestion(house: House) -> None:
    """AGT-1: the event's identity is the order's, not the row's."""
    order = await house.order()
    await house.triage.claim_and_run()
    await house.database["outboxevents"].delete_many({})
    await house.desk.outbox.append(ORDER_CREATED, str(order))
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    await house.the(order)
    assert len(house.model.requests) == 1


async def test_a_stopped_pass_gives_its_event_back_uncounted(house: House) -> None:
    """D-24: cancelled by the worker's stop."""
    order = await house.order()
    house.model.add(say(json.dumps(proposal()), before=asyncio.Event()))
    draining = asyncio.create_task(house.triage.run_next())
    await house.model.received(1)
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    event = await house.event(order)
    assert (event["status"], event["attempts"]) == ("pending", 0)
    assert (await house.runs())[0]["status"] == "aborted"
    await house.model.disconnected()
    assert await house.triage.claim_and_run() == DrainCounts(done=1)


def _fail_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    """The next call of `owner.name` meets a database that is gone, before it wrote anything."""
    real, failed = getattr(owner, name), list[bool]()

    async def broken(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not failed:
            failed.append(True)
            raise AutoReconnect("gone")
        return await real(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, broken)
