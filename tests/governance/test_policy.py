"""The triage policy: first values, changes, the switch, and what is counted against it (AGT-3, AGT-8, D-13, D-18)."""

from __future__ import annotations

from typing import Any

import pytest
from bson import ObjectId

from app.accounts.actors import Actor, HumanActor, SystemActor
from app.core.errors import Forbidden, ValidationFailed
from app.desk import Desk
from app.governance.errors import BudgetExceeded
from app.governance.schemas import PolicyChange
from app.web.validation import parse

ADMIN = HumanActor(ObjectId(), "admin")


@pytest.mark.parametrize("overrides", [{"agent_triage_mode": "auto-apply", "agent_working_hours": "8-18"}])
async def test_the_first_values_come_from_the_settings(desk: Desk) -> None:
    """D-27, D-30: AGENT_TRIAGE_MODE and AGENT_WORKING_HOURS."""
    policy = await desk.governance.triage_policy()
    assert (policy.mode, policy.working_hours) == ("auto-apply", "8-18")
    assert policy.enabled
    assert policy.copilot_enabled


async def test_a_change_sets_what_was_given_and_who_did_it(desk: Desk) -> None:
    """AGT-8, D-30."""
    change = parse(PolicyChange, {"mode": "auto-apply", "dailyActionCap": 5, "applyDirection": "raise"})
    changed = await desk.governance.change_policy(ADMIN, change)
    assert (changed.mode, changed.daily_action_cap, changed.apply_direction) == ("auto-apply", 5, "raise")
    assert (changed.flag_threshold, changed.working_hours) == ("high", "*")
    assert (await desk.governance.triage_policy()).updated_by == str(ADMIN.id)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"enabled": True},
        {"copilotEnabled": True},
        {"mode": "auto"},
        {"mode": None},
        {"allowedFields": ["status"]},
        {"allowedFields": ["priority", "priority"]},
        {"dailyActionCap": -1},
        {"dailyActionCap": "5"},
        {"flagThreshold": "urgent"},
        {"workingHours": "9to5"},
        {"applyDirection": "lower"},
        {"baseUrl": "https://elsewhere.example"},
    ],
)
def test_a_change_takes_the_policy_s_fields_and_nothing_else(change: dict[str, Any]) -> None:
    """D-30, SEC-2, D-12: strictly; `enabled` belongs to the kill switch."""
    with pytest.raises(ValidationFailed):
        parse(PolicyChange, change)


@pytest.mark.parametrize(
    "actor",
    [SystemActor(), HumanActor(ObjectId(), "user"), HumanActor(ObjectId(), "viewer")],
    ids=lambda actor: actor.role,
)
async def test_only_a_dispatcher_changes_policy_and_switch(desk: Desk, actor: Actor) -> None:
    """AGT-8, SEC-6, scenario 3.7."""
    with pytest.raises(Forbidden):
        await desk.governance.change_policy(actor, parse(PolicyChange, {"mode": "suggest"}))
    with pytest.raises(Forbidden):
        await desk.governance.switch(actor, "all", on=False)


async def test_the_switch_takes_the_copilot_with_it_when_asked(desk: Desk) -> None:
    """D-18: `triage` leaves the copilot on, `all` does not."""
    await desk.governance.switch(ADMIN, "triage", on=False)
    assert await desk.governance.copilot_enabled()
    config = await desk.governance.switch(ADMIN, "all", on=False)
    assert (config.enabled, config.copilot_enabled, config.switched_by) == (False, False, str(ADMIN.id))
    assert not await desk.governance.copilot_enabled()
    await desk.governance.switch(ADMIN, "all", on=True)
    assert await desk.governance.copilot_enabled()


async def test_an_older_desk_s_policy_is_read_with_its_missing_fields(desk: Desk) -> None:
    """DATA-2: `{name, enabled, mode, …}` of 003 §9 alone."""
    now = desk.clock.now()
    old = {"name": "triage", "enabled": False, "mode": "suggest", "updatedAt": now, "createdAt": now}
    await desk.database["agentconfigs"].insert_one(old)
    policy = await desk.governance.triage_policy()
    assert (policy.enabled, policy.copilot_enabled, policy.daily_action_cap) == (False, True, 200)


async def test_calls_are_counted_per_agent_and_day(desk: Desk) -> None:
    """D-13: the count is part of the reservation, so it is never overshot; other scopes do not count."""
    for number in range(3):
        await desk.ledger.reserve(f"{number:02x}", 0.0, agent="triage", most_actions=3)
    await desk.ledger.reserve("a0", 0.0, user="u1")
    with pytest.raises(BudgetExceeded) as refused:
        await desk.ledger.reserve("03", 0.0, agent="triage", most_actions=3)
    assert refused.value.scope == "actions"
    assert await desk.ledger.reached(agent="triage", most_actions=3) == "actions"
    assert await desk.ledger.reached(agent="triage", most_actions=4) is None
    assert (await desk.ledger.today()).actions == {"triage": 3}
