"""Events wait, they are not dropped: kill switch, working hours, caps (D-10, D-11, D-12, D-13, D-18)."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest

from app.governance.schemas import PolicyChange
from app.llm.demo.script import say
from app.triage.schemas import DrainCounts
from tests.triage.house import House, proposal, propose


async def test_nothing_is_claimed_called_or_written_while_triage_is_off(house: House) -> None:
    """D-18, AGT-9, scenario 3.3: events wait with the reason; on again, all are done, oldest first."""
    orders = [await house.order(f"Order number {number}") for number in range(12)]
    await house.desk.governance.switch(await house.actor("dispatcher"), "triage", on=False)
    for _ in range(3):
        assert (await house.triage.claim_and_run()).total == 0
    assert await house.triage.run_next() is None
    assert house.model.requests == []
    assert await house.database["triagesuggestions"].count_documents({}) == 0
    assert await house.runs() == []
    for order in orders:
        event = await house.event(order)
        assert (event["status"], event["waitReason"], event["attempts"]) == ("pending", "switched_off", 0)
    await house.desk.governance.switch(await house.actor("dispatcher"), "triage", on=True)
    assert await house.triage.claim_and_run() == DrainCounts(done=12)
    asked = [json.loads(request["messages"][1]["content"])["title"] for request in house.model.requests]
    assert set(asked[:2]) == {"Order number 0", "Order number 1"}


async def test_the_switch_ends_a_running_pass_between_its_steps(house: House) -> None:
    """D-18: read before each write: the answer comes, nothing is written, the run is aborted, the event waits."""
    order = await house.order()
    gate = asyncio.Event()
    house.model.add(say(json.dumps(proposal()), before=gate))
    draining = asyncio.create_task(house.triage.claim_and_run())
    await house.model.received(1)
    await house.desk.governance.switch(await house.actor("dispatcher"), "triage", on=False)
    gate.set()
    assert await asyncio.wait_for(draining, 20) == DrainCounts(waiting=1)
    assert await house.found(order) == []
    assert (await house.runs())[0]["status"] == "aborted"
    event = await house.event(order)
    assert (event["status"], event["waitReason"], event["attempts"]) == ("pending", "switched_off", 0)


async def test_the_switch_is_read_before_a_second_call_of_the_same_pass(house: House) -> None:
    """D-18: read before each provider call."""
    await house.order()
    gate = asyncio.Event()
    house.model.add(say("no proposal", before=gate))
    draining = asyncio.create_task(house.triage.claim_and_run())
    await house.model.received(1)
    await house.policy(enabled=False)
    gate.set()
    assert await asyncio.wait_for(draining, 20) == DrainCounts(waiting=1)
    assert len(house.model.requests) == 1


async def test_outside_the_working_hours_events_wait_until_they_open(house: House) -> None:
    """D-11, D-12: with the reason and the time; then they run."""
    now = house.clock.now()
    start, end = (now.hour + 2) % 24, (now.hour + 4) % 24
    await house.policy(workingHours=f"{start}-{end}")
    order = await house.order()
    assert (await house.triage.claim_and_run()).total == 0
    event = await house.event(order)
    assert event["waitReason"] == "working_hours"
    assert timedelta(hours=1) <= event["availableAt"] - now <= timedelta(hours=2)
    assert house.model.requests == []
    house.clock.advance(event["availableAt"] - house.clock.now())
    assert await house.triage.claim_and_run() == DrainCounts(done=1)


async def test_events_that_wait_for_hours_run_as_soon_as_the_hours_are_changed(house: House) -> None:
    """D-11: they run when the reason is gone, not when it was expected to go."""
    now = house.clock.now()
    await house.policy(workingHours=f"{(now.hour + 5) % 24}-{(now.hour + 6) % 24}")
    await house.order()
    assert (await house.triage.claim_and_run()).total == 0
    await house.desk.governance.change_policy(
        await house.actor("dispatcher"), PolicyChange.model_validate({"workingHours": "*"})
    )
    assert await house.triage.claim_and_run() == DrainCounts(done=1)


async def test_the_daily_action_cap_lets_the_rest_wait_for_the_next_day(house: House) -> None:
    """D-13, AGT-3: provider calls are counted, in every mode; the next UTC day the rest runs."""
    await house.policy(dailyActionCap=3)
    orders = [await house.order(f"Order number {number}") for number in range(5)]
    assert (await house.triage.claim_and_run()).done == 3
    assert len(house.model.requests) == 3
    assert (await house.triage.claim_and_run()).total == 0
    waiting = [event for order in orders if (event := await house.event(order))["status"] == "pending"]
    assert [(event["waitReason"], event["attempts"]) for event in waiting] == [("daily_actions", 0)] * 2
    house.tomorrow()
    assert await house.triage.claim_and_run() == DrainCounts(done=2)


async def test_the_first_call_that_a_cap_refuses_lets_all_others_wait(house: House) -> None:
    """D-11, D-13: with the reason, unclaimed and uncounted; not each for itself."""
    await house.policy(dailyActionCap=1)
    for number in range(6):
        await house.order(f"Order number {number}")
    assert (await house.triage.run_next()) is not None
    refused = await house.triage.run_next()
    assert refused is not None
    assert (refused.outcome, refused.closed) == ("waiting", True)
    waiting = house.database["outboxevents"].find({"waitReason": "daily_actions", "status": "pending", "attempts": 0})
    assert len(await waiting.to_list()) == 5
    assert await house.triage.run_next() is None
    assert len(house.model.requests) == 1
    assert [run["status"] for run in await house.runs()] == ["complete", "budget_exceeded"]


async def test_a_cap_of_zero_calls_nothing(house: House) -> None:
    """D-13."""
    await house.policy(dailyActionCap=0)
    await house.order()
    await house.triage.claim_and_run()
    assert house.model.requests == []


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"agent_daily_spend_usd": 0.002}, "agent_budget"),
        ({"ai_global_daily_spend_usd": 0.002}, "desk_budget"),
    ],
)
async def test_a_spent_budget_lets_events_wait_for_the_next_day(house: House, reason: str) -> None:
    """D-10, D-11: agent and desk caps; one call over at most; the money starts anew the next day."""
    orders = [await house.order(f"Order number {number}") for number in range(4)]
    house.model.add(*[say(json.dumps(proposal()), usage=(10_000, 1_000))] * 4)
    counts = await house.triage.claim_and_run()
    assert 1 <= counts.done <= 2
    await house.triage.claim_and_run()
    waiting = [event for order in orders if (event := await house.event(order))["status"] == "pending"]
    assert {event["waitReason"] for event in waiting} == {reason}
    assert len(waiting) == 4 - counts.done
    house.tomorrow()
    assert (await house.triage.claim_and_run()).done >= 1


@pytest.mark.parametrize("overrides", [{"agent_daily_spend_usd": 0.0041, "agent_concurrency": 8}])
async def test_parallel_passes_overshoot_a_cap_by_one_call_at_most(house: House) -> None:
    """D-10, scenario 3.2."""
    for number in range(16):
        await house.order(f"Order number {number}")
    house.model.add(*[say(json.dumps(proposal()), usage=None)] * 16)
    await house.triage.claim_and_run()
    spend = await house.spend()
    each = spend["spentUsd"] / spend["actions"]["triage"]
    assert 0.0041 <= spend["spentUsd"] < 0.0041 + each
    assert len(house.model.requests) == spend["actions"]["triage"]


async def test_a_retried_call_counts_against_the_budgets_too(house: House) -> None:
    """AGT-5, 003 §4.7: all calls bill."""
    await house.policy(dailyActionCap=1)
    order = await house.order()
    house.model.add(say("no proposal"), propose())
    assert await house.triage.claim_and_run() == DrainCounts(waiting=1)
    assert (await house.event(order))["waitReason"] == "daily_actions"
    assert (await house.runs())[0]["status"] == "budget_exceeded"


@pytest.mark.parametrize("overrides", [{"ai_enabled": False}])
async def test_without_ai_events_are_kept_as_they_are(house: House) -> None:
    """D-22."""
    order = await house.order()
    before = await house.event(order)
    assert (await house.triage.claim_and_run()).total == 0
    assert await house.event(order) == before
