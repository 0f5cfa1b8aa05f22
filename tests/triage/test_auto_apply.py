"""Auto-apply: bounded, careful of what people do meanwhile, exactly once (AGT-7, D-14, SEC-6)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from bson import ObjectId
from pymongo.errors import AutoReconnect

from app.accounts.actors import HumanActor
from app.llm.demo.script import say
from app.runs.service import RunService
from app.tools.policy import Tier
from app.triage.schemas import DrainCounts
from app.work_orders.errors import UndoOutOfDate
from app.work_orders.service import WorkOrderService
from tests.triage.house import House, proposal, propose


async def test_the_suggested_priority_is_applied_as_the_system(house: House) -> None:
    """AGT-7, D-14: only the priority; in the history, on the suggestion, and on record as triage_apply."""
    await house.policy(mode="auto-apply")
    order = await house.order("Pump leaks", description="Puddle.", priority="low")
    house.model.add(propose(suggestedPriority="high"))
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    stored = await house.stored(order)
    assert (stored["priority"], stored["version"]) == ("high", 2)
    assert (stored["title"], stored["description"], stored["status"]) == ("Pump leaks", "Puddle.", "pending")
    mark = stored["history"][-1]
    assert (mark["by"], mark["via"]) == ("system", "triage")
    assert mark["changes"] == [{"field": "priority", "before": "low", "after": "high"}]
    found = await house.the(order)
    assert (found["applied"], found["appliedBy"], found["appliedVersion"]) == (True, "system", 2)
    _, applied = await house.calls()
    assert (applied["tool"], applied["outcome"], applied["executedVersion"]) == ("triage_apply", "executed", 2)
    assert applied["preImage"] == {"priority": "low"}
    assert (applied["decision"]["tier"], applied["decision"]["delegated"]) == ("auto", True)


async def test_a_tier_that_an_admin_raised_keeps_triage_from_writing(house: House) -> None:
    """T-13, T-15, scenario 4.7: nobody is there to be asked, so only auto writes"""
    await house.policy(mode="auto-apply")
    admin = HumanActor(ObjectId(), "admin")
    await house.desk.tools.listing.raise_to(admin, "triage_apply", Tier.CONFIRM)
    order = await house.order(priority="low")
    house.model.add(propose(suggestedPriority="high"))
    await house.triage.claim_and_run()
    assert (await house.stored(order))["version"] == 1
    _, kept = await house.calls()
    assert (kept["outcome"], kept["decision"]["tier"]) == ("blocked", "confirm")
    assert "an admin raised it to confirm" in (await house.the(order))["note"]


@pytest.mark.parametrize(
    ("direction", "before", "suggested", "after"),
    [
        ("raise", "high", "low", "high"),
        ("raise", "low", "high", "high"),
        ("both", "high", "low", "low"),
        ("both", "medium", "medium", "medium"),
    ],
)
async def test_only_the_allowed_direction_is_written(
    house: House, direction: str, before: Any, suggested: str, after: str
) -> None:
    """D-14: `raise` never lowers; what does not differ is not written."""
    await house.policy(mode="auto-apply", applyDirection=direction)
    order = await house.order(priority=before)
    house.model.add(propose(suggestedPriority=suggested))
    await house.triage.claim_and_run()
    stored = await house.stored(order)
    assert (stored["priority"], stored["version"]) == (after, 2 if before != after else 1)
    assert (await house.the(order))["applied"] is (before != after)


@pytest.mark.parametrize("fields", [{"mode": "suggest"}, {"mode": "auto-apply", "allowedFields": []}])
async def test_a_policy_that_does_not_allow_it_applies_nothing(house: House, fields: dict[str, Any]) -> None:
    """AGT-3, SEC-9."""
    await house.policy(**fields)
    order = await house.order(priority="low")
    house.model.add(propose(suggestedPriority="high"))
    await house.triage.claim_and_run()
    assert (await house.stored(order))["version"] == 1


async def test_another_edit_during_the_call_stays_and_the_priority_is_applied_on_it(house: House) -> None:
    """AGT-7: a fresh version is read."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    await _during_the_call(house, order, {"title": "A better title"}, suggestedPriority="high")
    stored = await house.stored(order)
    assert (stored["title"], stored["priority"], stored["version"]) == ("A better title", "high", 3)


async def test_a_priority_that_a_person_set_during_the_call_stays(house: House) -> None:
    """Scenario 3.6: their word stands; the drop is on record with its reason."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    await _during_the_call(house, order, {"priority": "medium"}, suggestedPriority="high")
    stored = await house.stored(order)
    assert (stored["priority"], stored["version"]) == ("medium", 2)
    found = await house.the(order)
    assert (found["applied"], found["autoApply"]) == (False, "dropped")
    assert "Somebody set the priority" in found["note"]
    assert (await house.calls())[-1]["outcome"] == "stale"
    assert (await house.event(order))["status"] == "done"


@pytest.mark.parametrize(("conflicts", "priority"), [(1, "high"), (2, "low")])
async def test_a_conflict_is_tried_once_again_and_then_dropped(
    house: House, monkeypatch: pytest.MonkeyPatch, conflicts: int, priority: str
) -> None:
    """AGT-7: 409, re-read, once more; a second 409 drops it."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    real, left, owner = WorkOrderService.triage_patch, [conflicts], await house.actor()

    async def overtaken(self: WorkOrderService, actor: Any, order_id: ObjectId, version: int, *rest: Any) -> Any:
        if left[0]:
            left[0] -= 1
            await self.update(owner, order_id, version, {"description": f"Edit {left[0]}"})
        return await real(self, actor, order_id, version, *rest)

    monkeypatch.setattr(WorkOrderService, "triage_patch", overtaken)
    house.model.add(propose(suggestedPriority="high"))
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    assert (await house.stored(order))["priority"] == priority
    assert (await house.the(order))["autoApply"] == ("applied" if conflicts == 1 else "dropped")


async def test_an_owner_who_opts_out_before_the_write_is_left_alone(house: House) -> None:
    """SEC-8 (before auto-apply)."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    await _crash_before_the_apply(house, order)
    await house.opt_out()
    house.later(seconds=16)
    await house.triage.claim_and_run()
    assert (await house.stored(order))["version"] == 1
    assert (await house.the(order))["autoApply"] == "dropped"


async def test_the_switch_is_read_before_the_write_and_the_write_follows_when_it_is_on(house: House) -> None:
    """D-18: read before each write; the suggestion is there, the event waits, nothing is asked twice."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    await _crash_before_the_apply(house, order)
    house.later(seconds=16)
    event = (await house.desk.outbox.claim(1, 15_000))[0]
    await house.policy(enabled=False)
    assert (await house.triage.run_event(event)).outcome == "waiting"
    assert (await house.stored(order))["version"] == 1
    await house.policy(enabled=True)
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    assert (await house.stored(order))["priority"] == "high"
    assert len(house.model.requests) == 1


async def test_a_crash_after_the_write_writes_no_second_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-5: the retry finds its own mark on the order, though a person has edited since."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    house.model.add(propose(suggestedPriority="high"))
    event = (await house.desk.outbox.claim(1, 15_000))[0]
    real, seen = RunService.keep_call, list[Any]()

    async def broken(self: RunService, call: Any, **how: Any) -> Any:
        if call.tool == "triage_apply" and not seen:
            seen.append(call)
            raise AutoReconnect("gone")
        return await real(self, call, **how)

    monkeypatch.setattr(RunService, "keep_call", broken)
    with pytest.raises(AutoReconnect):
        await house.triage.run_event(event)
    await house.desk.orders.update(await house.actor(), order, 2, {"priority": "medium"})
    house.later(seconds=16)
    assert await house.triage.claim_and_run() == DrainCounts(done=1)
    stored = await house.stored(order)
    assert (stored["priority"], stored["version"]) == ("medium", 3)
    assert ((await house.the(order))["appliedVersion"], len(house.model.requests)) == (2, 1)


async def test_a_dispatcher_takes_an_applied_priority_back(house: House) -> None:
    """D-14: one click, version-checked, recorded."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    house.model.add(propose(suggestedPriority="high"))
    await house.triage.claim_and_run()
    found = await house.the(order)
    dispatcher = await house.actor("dispatcher")
    undone = await house.suggestions.undo(dispatcher, found["_id"])
    assert (undone.applied, undone.undone_by) == (False, str(dispatcher.id))
    stored = await house.stored(order)
    assert (stored["priority"], stored["history"][-1]["via"]) == ("low", "undo")
    assert (await house.suggestions.undo(dispatcher, found["_id"])).undone_by == str(dispatcher.id)
    assert (await house.stored(order))["version"] == 3


async def test_an_order_that_moved_on_cannot_be_undone(house: House) -> None:
    """D-14, D-30: version-checked."""
    await house.policy(mode="auto-apply")
    order = await house.order(priority="low")
    house.model.add(propose(suggestedPriority="high"))
    await house.triage.claim_and_run()
    await house.desk.orders.update(await house.actor(), order, 2, {"title": "Another title"})
    found = await house.the(order)
    with pytest.raises(UndoOutOfDate):
        await house.suggestions.undo(await house.actor("dispatcher"), found["_id"])
    assert (await house.stored(order))["priority"] == "high"


async def _during_the_call(house: House, order: ObjectId, changes: dict[str, Any], **answer: Any) -> None:
    """The owner edits the order between question and answer."""
    gate = asyncio.Event()
    house.model.add(say(json.dumps(proposal(**answer)), before=gate))
    draining = asyncio.create_task(house.triage.claim_and_run())
    await house.model.received(1)
    await house.desk.orders.update(await house.actor(), order, 1, changes)
    gate.set()
    await asyncio.wait_for(draining, 20)


async def _crash_before_the_apply(house: House, order: ObjectId) -> None:
    """The suggestion is stored under auto-apply; then the worker dies."""
    house.model.add(propose(suggestedPriority="high"))
    event = (await house.desk.outbox.claim(1, 15_000))[0]
    with pytest.MonkeyPatch.context() as patch:

        async def gone(*_args: Any) -> Any:
            raise AutoReconnect("gone")

        patch.setattr(WorkOrderService, "triage_patch", gone)
        with pytest.raises(AutoReconnect):
            await house.triage.run_event(event)
    assert (await house.the(order))["autoApply"] == "pending"
