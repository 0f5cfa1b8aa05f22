"""The gate on requests: the shipped inventory, call by call."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from app.tools.connections.connection import Connections
from app.tools.connections.policy_file import load_connections
from app.tools.connections.request_arguments import RequestArguments
from app.tools.gate import CallContext, GateDecision, ProposedCall, decide
from app.tools.policy import Tier
from tests.tools.connections.systems import shipped, write_policy

INTENTS = ("read", "write", "confirmed_write")


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    """The shipped inventory, with two gated GETs and a second threshold beside it."""
    policy = shipped("inventory")
    policy["endpoints"] |= {
        "GET /costs": {"confirm": "review"},
        "GET /salaries": {"confirm": "never"},
        "GET /exports": {"confirm": True},
        "POST /orders": {
            "thresholds": [
                {"field": "body.amount", "above": 100, "escalate": "review"},
                {"field": "body.amount", "above": 10_000, "escalate": "never"},
                {"field": "query.copies", "above": 3, "escalate": "review"},
                {"field": "body.order.lines", "above": 5, "escalate": "review"},
            ]
        },
    }
    write_policy(tmp_path, "inventory", policy)
    return load_connections(tmp_path)


def decided(
    connections: Connections,
    method: str,
    path: str,
    *,
    intent: str = "write",
    delegated: bool = False,
    role: Literal["admin", "user", "viewer"] = "user",
    connection: str = "inventory",
    **more: Any,
) -> GateDecision:
    """What the gate says, as every caller asks it."""
    arguments = {"connection": connection, "method": method, "path": path, "intent": intent, **more}
    args = RequestArguments.model_validate(arguments)
    call = ProposedCall(args.frozen_args(), args.intent)
    context = CallContext(mode="copilot", role=role, delegated=delegated)
    return decide(call, connections.policy_of(args.request()), context)


def reserving(connections: Connections, quantity: Any, **more: Any) -> GateDecision:
    return decided(connections, "POST", "/reservations", body={"sku": "SEA-0118", "quantity": quantity}, **more)


def test_ten_are_confirmed_and_eleven_are_reviewed(connections: Connections) -> None:
    """T-6, T-8: strictly greater; the reason is told."""
    assert reserving(connections, 10).tier is Tier.CONFIRM
    more = reserving(connections, 11)
    assert more.tier is Tier.REVIEW
    assert more.is_escalated
    assert more.denial == "Threshold escalation: body.quantity is 11, above 10."


@pytest.mark.parametrize(
    "quantity", ["50", "5", "NaN", [50], [], {}, {"$gt": 1}, True, None, 10.000001, 1e300, 2**53 - 1]
)
def test_what_is_no_small_number_does_not_slip_under_a_threshold(connections: Connections, quantity: Any) -> None:
    """T-6, scenario 4.5: a value of the wrong type goes to the highest declared escalation."""
    decision = reserving(connections, quantity)
    assert decision.tier is Tier.REVIEW
    assert decision.denial.startswith("Threshold escalation: body.quantity")


@pytest.mark.parametrize(
    "body",
    [
        [{"quantity": 50}],
        {"Quantity": 50},
        {"QUANTITY": 50, "quantity": 1},
        {"quantity ": 50},
        {"quantity.": 50},
        {"quantity[]": 50},
        {"ｑuantity": 50},
    ],
)
def test_a_body_that_dodges_the_field_is_reviewed(connections: Connections, body: Any) -> None:
    """T-6, scenario 4.5: a list, and keys that a lenient server could take for the one that is watched."""
    assert decided(connections, "POST", "/reservations", body=body).tier is Tier.REVIEW


@pytest.mark.parametrize(
    ("more", "tier"),
    [
        ({}, Tier.CONFIRM),
        ({"body": {}}, Tier.CONFIRM),
        ({"body": {"amount": 100}}, Tier.CONFIRM),
        ({"body": {"amount": 100.5}}, Tier.REVIEW),
        ({"body": {"amount": 10_000.5}}, Tier.NEVER),
        ({"body": {"amount": "1"}}, Tier.NEVER),
        ({"query": {"copies": 3}}, Tier.CONFIRM),
        ({"query": {"copies": 4}}, Tier.REVIEW),
        ({"query": {"copies": "1"}}, Tier.NEVER),
        ({"query": {"copies[]": 1}}, Tier.NEVER),
        ({"body": {"amount": 101}, "query": {"copies": 4}}, Tier.REVIEW),
        ({"body": {"order": {"lines": 5}}}, Tier.CONFIRM),
        ({"body": {"order": {"lines": 6}}}, Tier.REVIEW),
        ({"body": {"order": [{"lines": 6}]}}, Tier.NEVER),
        ({"body": {"order.lines": 6}}, Tier.NEVER),
        ({"body": {"order": {"Lines": 6}}}, Tier.NEVER),
    ],
)
def test_all_thresholds_count_and_the_highest_wins(connections: Connections, more: dict[str, Any], tier: Tier) -> None:
    """T-6: absent does not trigger."""
    assert decided(connections, "POST", "/orders", **more).tier is tier


@pytest.mark.parametrize("intent", INTENTS)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/parts/SEA-0118"),
        ("delete", "/parts//SEA-0118"),
        ("DELETE", "/parts%2FSEA-0118"),
        ("DELETE", "/parts"),
        ("POST", "/parts"),
        ("PUT", "/reservations"),
        ("GET", "/nowhere"),
        ("GET", "/salaries"),
        ("GET", "/SALARIES"),
        ("GET", "/x/..%2fsalaries/"),
    ],
)
def test_never_and_unknown_endpoints_are_denied_whatever_is_intended(
    connections: Connections, method: str, path: str, intent: str
) -> None:
    """T-4, T-9, scenarios 4.1, 4.2 and 4.3: GET too."""
    assert decided(connections, method, path, intent=intent).tier is Tier.NEVER


@pytest.mark.parametrize("intent", INTENTS)
def test_an_unknown_connection_is_denied(connections: Connections, intent: str) -> None:
    """T-9, scenario 4.1."""
    decision = decided(connections, "GET", "/parts", connection="warehouse", intent=intent)
    assert (decision.tier, "unknown connection" in decision.denial) == (Tier.NEVER, True)


@pytest.mark.parametrize(
    ("path", "tier"),
    [("/parts", Tier.AUTO), ("/exports", Tier.CONFIRM), ("/costs", Tier.REVIEW), ("/salaries", Tier.NEVER)],
)
def test_a_get_obeys_every_tier(connections: Connections, path: str, tier: Tier) -> None:
    """T-9, scenario 4.3."""
    assert decided(connections, "GET", path, intent="read").tier is tier


def test_a_change_that_says_it_reads_is_denied(connections: Connections) -> None:
    """T-10."""
    assert reserving(connections, 1, intent="read").tier is Tier.NEVER
    assert decided(connections, "POST", "/orders", intent="read").tier is Tier.NEVER


def test_a_delegated_call_is_reviewed_where_the_policy_says_so(connections: Connections) -> None:
    """T-7, scenario 4.6: confirm becomes review, never stays never, and a read stays a read."""
    decision = reserving(connections, 1, delegated=True)
    assert (decision.tier, decision.denial.startswith("Delegated agent escalation: ")) == (Tier.REVIEW, True)
    assert decided(connections, "DELETE", "/parts/x", delegated=True).tier is Tier.NEVER
    assert decided(connections, "GET", "/parts", intent="read", delegated=True).tier is Tier.AUTO


def test_a_viewer_looks_and_changes_nothing(connections: Connections) -> None:
    """AUTH-6, T-9."""
    assert reserving(connections, 1, role="viewer").blocked is not None
    assert decided(connections, "DELETE", "/parts/x", role="viewer").blocked is not None
    assert decided(connections, "GET", "/parts", intent="read", role="viewer").blocked is None


def test_the_proof_names_the_file(connections: Connections, tmp_path: Path) -> None:
    """T-13."""
    record = reserving(connections, 11).as_record()
    assert record["source"] == f"{tmp_path.name}/inventory/policy.json"
    assert {rule["id"] for rule in record["rules"]} >= {"T-1", "T-2", "T-4", "T-6"}
