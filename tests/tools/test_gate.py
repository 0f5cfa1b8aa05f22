"""The gate over the full product of its inputs: the highest rule wins, nothing lowers (T-1..T-9, T-13, T-15)."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from app.tools.gate import CallContext, GateDecision, HookAnswer, ProposedCall, barred, decide
from app.tools.policy import EXPOSURES, Exposure, Mode, Risk, Threshold, Tier, ToolPolicy

LADDER = {
    Risk.READ: (0, Tier.AUTO),
    Risk.WRITE: (1, Tier.AUTO),
    Risk.UNKNOWN: (2, Tier.AUTO),
    Risk.FINANCIAL: (3, Tier.CONFIRM),
    Risk.DESTRUCTIVE: (4, Tier.CONFIRM),
    Risk.BULK: (5, Tier.CONFIRM),
}
HOOKS: dict[HookAnswer, Tier] = {"allow": Tier.AUTO, "ask": Tier.CONFIRM, "deny": Tier.NEVER}
MODES: tuple[Mode, ...] = ("copilot", "triage")
AMOUNTS: dict[str, Any] = {"none": None, "below": 10, "above": 11, "text": "50"}


def _policy(risk: Risk = Risk.WRITE, **fields: Any) -> ToolPolicy:
    given: dict[str, Any] = {"name": "tool", "mutates": risk is not Risk.READ, "modes": frozenset(MODES)} | fields
    return ToolPolicy(risk=risk, **given)


def _judged(policy: ToolPolicy, args: dict[str, Any] | None = None, **context: Any) -> GateDecision:
    return decide(ProposedCall(args or {}), policy, CallContext(**({"mode": "triage", "role": "user"} | context)))


@pytest.mark.parametrize(("risk", "level", "tier"), [(risk, *rung) for risk, rung in LADDER.items()])
def test_the_ladder_asks_for_confirmation_from_level_three(risk: Risk, level: int, tier: Tier) -> None:
    """T-1"""
    assert risk.level == level
    asked = {rule.tier for rule in _judged(_policy(risk)).rules if rule.id == "T-1"}
    assert asked == {tier}


@pytest.mark.parametrize("exposure", EXPOSURES)
@pytest.mark.parametrize("mode", MODES)
def test_the_highest_of_all_rules_wins_and_nothing_lowers(exposure: Exposure, mode: Mode) -> None:
    """T-1..T-8, T-13, T-15: each input alone says what it asks for; together, the gate gives the highest of these."""
    for risk, confirm, amount, delegated, raised, hook in product(
        Risk, Tier, AMOUNTS, (False, True), (Tier.AUTO, Tier.REVIEW, Tier.NEVER), HOOKS
    ):
        policy = _policy(
            risk,
            confirm=confirm,
            exposure=exposure,
            escalate_delegated=True,
            thresholds=(Threshold("body.amount", 10, Tier.REVIEW),),
        )
        args = {"body": {} if amount == "none" else {"amount": AMOUNTS[amount]}}
        asked = max(
            LADDER[risk][1],
            Tier.REVIEW if risk is Risk.UNKNOWN else Tier.AUTO,
            Tier.CONFIRM if policy.mutates and mode == "copilot" else Tier.AUTO,
            confirm,
            {"open": Tier.AUTO, "requires-confirmation": Tier.CONFIRM, "operator-gated": Tier.NEVER}[exposure],
            Tier.REVIEW if amount in ("above", "text") else Tier.AUTO,
            raised,
            HOOKS[hook],
        )
        expected = Tier.REVIEW if delegated and asked is Tier.CONFIRM else asked
        decision = _judged(policy, args, mode=mode, delegated=delegated, raised=raised, hook=hook)
        assert decision.tier is expected
        assert decision.tier is max(rule.tier for rule in decision.rules)


def test_a_tool_without_a_class_waits_for_review() -> None:
    """T-3: unknown is not fail-open here"""
    decision = _judged(ToolPolicy("novel", modes=frozenset(MODES)))
    assert decision.tier is Tier.REVIEW
    assert "T-3" in {rule.id for rule in decision.rules}


def test_a_tool_that_changes_state_cannot_be_declared_read() -> None:
    """T-3"""
    with pytest.raises(ValueError, match="declared read"):
        ToolPolicy("sly", Risk.READ, mutates=True)


@pytest.mark.parametrize("value", ["50", "11", "", None, [], [11], {"n": 11}, True, math.nan, math.inf, -math.inf])
def test_what_is_no_number_at_a_threshold_gets_the_highest_escalation(value: Any) -> None:
    """T-6, scenario 4.5"""
    thresholds = (Threshold("body.amount", 10, Tier.REVIEW), Threshold("body.amount", 1000, Tier.NEVER))
    assert _judged(_policy(thresholds=thresholds), {"body": {"amount": value}}).tier is Tier.NEVER


@pytest.mark.parametrize("body", [[], "text", 11, None, [{"amount": 11}]])
def test_a_body_that_is_no_object_does_not_slip_under_a_threshold(body: Any) -> None:
    """T-6, scenario 4.5"""
    policy = _policy(thresholds=(Threshold("body.amount", 10, Tier.REVIEW),))
    assert _judged(policy, {"body": body}).tier is Tier.REVIEW


@pytest.mark.parametrize(
    ("amount", "tier"),
    [(10, Tier.AUTO), (10.0, Tier.AUTO), (10.0001, Tier.REVIEW), (11, Tier.REVIEW), (-5, Tier.AUTO), (101, Tier.NEVER),
     (10**400, Tier.NEVER)],
)  # fmt: skip
def test_a_threshold_triggers_strictly_above_and_the_highest_of_several_wins(amount: float, tier: Tier) -> None:
    """T-6"""
    thresholds = (Threshold("body.amount", 10, Tier.REVIEW), Threshold("body.amount", 100, Tier.NEVER))
    assert _judged(_policy(thresholds=thresholds), {"body": {"amount": amount}}).tier is tier


def test_an_absent_field_triggers_nothing() -> None:
    """T-6"""
    policy = _policy(thresholds=(Threshold("body.order.amount", 10, Tier.REVIEW),))
    absent: list[dict[str, Any]] = [{}, {"body": {}}, {"body": {"order": {}}}]
    for args in absent:
        assert _judged(policy, args).tier is Tier.AUTO


def test_a_threshold_can_only_escalate() -> None:
    """T-6"""
    with pytest.raises(ValueError, match="review or never"):
        Threshold("body.amount", 10, Tier.CONFIRM)


def test_an_escalation_says_which_it_is() -> None:
    """T-8"""
    policy = _policy(
        confirm=Tier.CONFIRM, escalate_delegated=True, thresholds=(Threshold("body.quantity", 10, Tier.REVIEW),)
    )
    over = _judged(policy, {"body": {"quantity": 11}})
    assert over.denial == "Threshold escalation: body.quantity is 11, above 10."
    assert over.is_escalated
    delegated = _judged(policy, {"body": {"quantity": 1}}, delegated=True)
    assert delegated.denial.startswith("Delegated agent escalation: ")
    assert not _judged(policy, {"body": {"quantity": 1}}).is_escalated


def test_delegation_touches_only_what_would_have_asked() -> None:
    """T-7: confirm becomes review; auto stays, never stays"""
    for confirm, expected in ((Tier.AUTO, Tier.AUTO), (Tier.CONFIRM, Tier.REVIEW), (Tier.NEVER, Tier.NEVER)):
        policy = _policy(confirm=confirm, escalate_delegated=True)
        assert _judged(policy, delegated=True).tier is expected
    assert _judged(_policy(confirm=Tier.CONFIRM), delegated=True).tier is Tier.CONFIRM


def test_a_changing_call_that_declares_read_never_runs() -> None:
    """T-10"""
    context = CallContext("copilot", "user")
    assert decide(ProposedCall({}, "read"), _policy(), context).tier is Tier.NEVER
    assert decide(ProposedCall({}, "read"), _policy(Risk.READ), context).tier is Tier.AUTO


def test_never_binds_other_tools_too_but_for_operator_gated_ones() -> None:
    """T-5, T-15"""
    never = _policy(confirm=Tier.NEVER)
    assert {_judged(never, by=by).tier for by in ("model", "tool", "operator")} == {Tier.NEVER}
    gated = _policy(confirm=Tier.NEVER, exposure="operator-gated")
    assert _judged(gated, by="model").tier is Tier.NEVER
    assert _judged(gated, by="tool").tier is Tier.AUTO
    assert _judged(gated, by="operator").tier is Tier.AUTO


@pytest.mark.parametrize(
    "context",
    [{"mode": "triage"}, {"role": "viewer"}, {"ai_on": False}, {"by": "model"}],
)
def test_who_may_not_use_a_tool_is_told_so_whatever_the_call_says(context: dict[str, Any]) -> None:
    """SEC-5, T-5"""
    policy = ToolPolicy("tool", Risk.WRITE, roles=frozenset({"admin", "user"}), llm_callable=context != {"by": "model"})
    told = barred(policy, CallContext(**({"mode": "copilot", "role": "user"} | context)))
    assert told is not None


def test_a_decision_is_a_proof_that_names_policy_rules_and_source() -> None:
    """T-13"""
    policy = _policy(Risk.DESTRUCTIVE, source="connections/inventory/policy.json", reason="removes a part")
    record = _judged(policy, mode="copilot").as_record()
    assert record["tier"] == "confirm"
    assert record["riskLevel"] == 4
    assert [rule["id"] for rule in record["rules"]] == ["T-1", "T-2"]
    assert record["source"] == "connections/inventory/policy.json"
    assert record["policy"] == policy.version
    assert policy.version != _policy(Risk.DESTRUCTIVE, reason="another").version
