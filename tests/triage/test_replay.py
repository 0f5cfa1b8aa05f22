"""A policy is tried on the past before it is saved (contract, section 7): pure counting, no provider call."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bson import ObjectId

from app.accounts.people import PersonRef
from app.governance.models import AgentConfig
from app.governance.schemas import PolicyChange
from app.triage.agreement import agreement, kept
from app.triage.models import TriageSuggestion
from app.triage.past import PastSuggestion
from app.triage.replay import effects
from app.work_orders.schemas import Change, HistoryMark, Standing, WorkOrderPublic
from tests.triage.house import House, propose

MONDAY = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)
PERSON = ObjectId()


def _policy(**fields: Any) -> AgentConfig:
    policy: AgentConfig = AgentConfig.model_construct(
        name="triage",
        **{
            "mode": "suggest",
            "allowed_fields": ["priority"],
            "daily_action_cap": 200,
            "flag_threshold": "high",
            "working_hours": "*",
            "apply_direction": "both",
        }
        | fields,
    )
    return policy


def _suggestion(**fields: Any) -> TriageSuggestion:
    values: dict[str, Any] = {
        "id": ObjectId(),
        "work_order_id": ObjectId(),
        "run_id": ObjectId(),
        "summary": "x",
        "suggested_priority": "high",
        "flag_for_dispatcher": True,
        "model_flagged": False,
        "priority_read": "medium",
        "created_at": MONDAY,
        "applied": False,
    }
    shown: TriageSuggestion = TriageSuggestion.model_construct(**(values | fields))
    return shown


def _standing(
    priority: Any = "medium", status: Any = "pending", marks: list[HistoryMark] | None = None, made: datetime = MONDAY
) -> Standing:
    owner = PersonRef(id="0" * 24, name="Rosa Lind", email="rosa@example.com")
    order = WorkOrderPublic(
        id="0" * 24, title="Pump", description=None, priority=priority, status=status, owner=owner, version=1,
        created_at=made, updated_at=made,
    )  # fmt: skip
    return Standing(order, False, marks or [])


def _past(made: datetime = MONDAY, **fields: Any) -> PastSuggestion:
    return PastSuggestion(_suggestion(**fields), _standing(made=made))


def test_flags_are_the_model_s_own_word_or_the_threshold() -> None:
    """D-13: rows without the model's own word say what was flagged then."""
    past = [
        _past(suggested_priority="low", model_flagged=True),
        _past(suggested_priority="medium"),
        _past(suggested_priority="high"),
        _past(suggested_priority="low", model_flagged=None, flag_for_dispatcher=True),
    ]
    found = [effects(past, _policy(flag_threshold=threshold)).flagged for threshold in ("high", "medium", "low")]
    assert found == [3, 4, 4]


def test_applied_are_those_the_mode_the_fields_and_the_direction_allow() -> None:
    """AGT-7, D-14: only where it differs."""
    past = [
        _past(suggested_priority="high"),
        _past(suggested_priority="low"),
        _past(suggested_priority="medium"),
        _past(suggested_priority="high", priority_read=None),
    ]

    def count(**fields: Any) -> tuple[int, int, int]:
        found = effects(past, _policy(**fields))
        return found.applied, found.raised, found.lowered

    assert count() == (0, 0, 0)
    assert count(mode="auto-apply") == (2, 1, 1)
    assert count(mode="auto-apply", apply_direction="raise") == (1, 1, 0)
    assert count(mode="auto-apply", allowed_fields=[]) == (0, 0, 0)


def test_orders_wait_for_hours_and_for_the_day_s_calls() -> None:
    """D-11, D-12, D-13: in the order they were made; what waits for both waits for calls."""
    past = [_past(made=MONDAY + timedelta(hours=hours)) for hours in (0, 1, 2, 10)]
    found = effects(past, _policy(working_hours="8-18"))
    assert (found.waits_for_hours, found.waits_for_calls, found.longest_wait_s) == (1, 0, 12 * 3600)
    capped = effects(past, _policy(daily_action_cap=2))
    assert (capped.waits_for_hours, capped.waits_for_calls, capped.longest_wait_s) == (0, 2, 12 * 3600)
    both = effects(past, _policy(daily_action_cap=2, working_hours="8-18"))
    assert (both.waits_for_hours, both.waits_for_calls) == (1, 1)
    assert effects(past, _policy(daily_action_cap=0)).waits_for_calls == 4


def _mark(by: Any, after: str, minutes: int = 5, field: str = "priority") -> HistoryMark:
    at = MONDAY + timedelta(minutes=minutes)
    return HistoryMark(None, by, at, 2, "person", "changed", [Change(field, "medium", after)])


@pytest.mark.parametrize(
    ("fields", "standing", "verdict"),
    [
        ({}, _standing(), None),
        ({"applied": True, "applied_by": str(PERSON)}, _standing("high"), True),
        ({"applied": True, "applied_by": "system"}, _standing("high"), None),
        ({"applied": True, "applied_by": "system"}, _standing("high", "done"), True),
        ({"undone_at": MONDAY}, _standing(), False),
        ({"dismissed_at": MONDAY}, _standing("medium"), False),
        ({"dismissed_at": MONDAY}, _standing("high"), True),
        ({}, _standing("high", marks=[_mark(PERSON, "high")]), True),
        ({}, _standing("low", marks=[_mark(PERSON, "low")]), False),
        ({}, _standing("low", marks=[_mark(PERSON, "high"), _mark(PERSON, "low", 9)]), False),
        ({}, _standing("high", marks=[_mark("system", "high")]), None),
        ({}, _standing("high", marks=[_mark(PERSON, "high", -5)]), None),
        ({}, _standing("high", marks=[_mark(PERSON, "done", field="status")]), None),
        ({"applied": True, "applied_by": str(PERSON)}, _standing("low", marks=[_mark(PERSON, "low")]), False),
        ({}, _standing("medium", "done"), False),
        ({}, None, None),
    ],
)
def test_the_last_person_has_the_word_on_whether_a_suggestion_was_kept(
    fields: dict[str, Any], standing: Standing | None, verdict: bool | None
) -> None:
    """Contract, section 7: agreement is measured against what people then decided."""
    assert kept(_suggestion(**fields), standing) is verdict


def test_agreement_is_told_together_and_per_priority() -> None:
    """Contract, section 7: undecided ones count for nothing."""
    past = [
        PastSuggestion(_suggestion(), _standing("high", "done")),
        PastSuggestion(_suggestion(), _standing("low", "done")),
        PastSuggestion(_suggestion(suggested_priority="low"), _standing("low", "done")),
        PastSuggestion(_suggestion(suggested_priority="medium"), _standing()),
    ]
    found = [(one.priority, one.kept, one.decided, one.percent) for one in agreement(past)]
    assert found == [(None, 2, 3, 67), ("high", 1, 2, 50), ("medium", 0, 0, None), ("low", 1, 1, 100)]


async def test_a_replay_asks_no_model_and_saves_nothing(house: House) -> None:
    """Contract, section 7: the suggestions on record are enough."""
    house.model.add(propose(suggestedPriority="high"), propose(suggestedPriority="low"))
    for title in ("Pump", "Lamp"):
        await house.order(title)
    await house.triage.claim_and_run()
    asked, before = len(house.model.requests), await house.desk.governance.triage_policy()
    change = PolicyChange.model_validate({"mode": "auto-apply", "applyDirection": "raise", "flagThreshold": "low"})
    report = await house.desk.triage.replay.of(await house.actor("dispatcher"), change)
    assert (report.orders, report.now.applied, report.now.flagged) == (2, 0, 1)
    assert (report.then.applied, report.then.raised, report.then.flagged) == (1, 1, 2)
    assert len(house.model.requests) == asked
    after = await house.desk.governance.triage_policy()
    assert (after.mode, after.revision) == (before.mode, before.revision)
    assert await house.database["agentconfigaudits"].count_documents({}) == 0
