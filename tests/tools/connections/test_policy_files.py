"""What a `policy.json` may say, and what is said of one that does not hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.tools.connections.connection import ConnectionFault
from app.tools.connections.policy_file import MAX_BYTES, load_connections
from app.tools.gate import CallContext, ProposedCall, decide
from app.tools.policy import Risk, Threshold, Tier
from tests.tools.connections.systems import SHIPPED, write_policy

GOOD: dict[str, Any] = {
    "baseUrl": "https://inventory.example.com/api",
    "auth": {"header": "Authorization", "valueFromEnv": "INVENTORY_TOKEN"},
    "endpoints": {
        "GET /parts": {"returns": ["part"]},
        "POST /reservations": {
            "confirm": True,
            "reason": "reserves stock",
            "thresholds": [{"field": "body.quantity", "above": 10, "escalate": "review"}],
        },
        "DELETE /parts/{id}": {"confirm": "never"},
    },
    "delegations": {"enabled": True, "escalateConfirm": True},
    "limits": {"timeoutMs": 5000, "maxResponseBytes": 65536, "perMinute": 60},
}
SECRET = "sk-live-4f8a2b9c"


def faults(folder: Path, policy: dict[str, Any] | str) -> list[str]:
    """The lines about one policy in `folder`, which is named `connections`."""
    write_policy(folder / "connections", "inventory", policy)
    with pytest.raises(ConnectionFault) as raised:
        load_connections(folder / "connections")
    assert str(raised.value) == "\n".join(raised.value.lines)
    return raised.value.lines


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good policy with `value` at a path of keys parted by `|`."""
    policy: dict[str, Any] = json.loads(json.dumps(GOOD))
    *parents, last = path.split("|")
    place = policy
    for parent in parents:
        place = place[parent]
    place[last] = value
    return policy


def test_the_example_of_the_contract_is_read_whole(tmp_path: Path) -> None:
    """T-4, T-6, T-7: each key arrives where it counts."""
    write_policy(tmp_path / "connections", "inventory", GOOD)
    (connection,) = load_connections(tmp_path / "connections")
    look, reserve, delete = (endpoint.policy for endpoint in connection.endpoints)
    assert (connection.name, connection.base_url) == ("inventory", "https://inventory.example.com/api")
    assert connection.limits.timeout_s == 5
    assert (look.name, look.risk, look.mutates, look.confirm) == ("inventory GET /parts", Risk.READ, False, Tier.AUTO)
    assert (reserve.risk, reserve.confirm, reserve.reason) == (Risk.WRITE, Tier.CONFIRM, "reserves stock")
    assert reserve.thresholds == (Threshold("body.quantity", 10, Tier.REVIEW),)
    assert (delete.risk, delete.confirm) == (Risk.DESTRUCTIVE, Tier.NEVER)
    assert reserve.escalate_delegated
    assert reserve.source == "connections/inventory/policy.json"
    assert "viewer" in look.roles
    assert reserve.roles == delete.roles == {"admin", "user"}


def test_the_shipped_connections_are_good() -> None:
    """T-4: what the program ships."""
    assert [connection.name for connection in load_connections(SHIPPED)] == ["inventory", "notifications"]


def test_what_may_be_left_out_has_careful_values(tmp_path: Path) -> None:
    """T-4, T-7."""
    write_policy(tmp_path, "open-data", {"baseUrl": "https://data.example", "endpoints": {"GET /": {}}})
    (connection,) = load_connections(tmp_path)
    assert connection.auth is None
    assert not any(endpoint.policy.refuse_delegated for endpoint in connection.endpoints)
    assert (connection.limits.timeout_s, connection.limits.max_response_bytes, connection.limits.per_minute) == (
        5,
        65_536,
        60,
    )


def test_without_the_folder_there_is_no_connection(tmp_path: Path) -> None:
    """T-4."""
    assert len(load_connections(tmp_path / "missing")) == 0


def test_where_no_delegated_call_is_taken_none_passes(tmp_path: Path) -> None:
    """T-7: `enabled: false` is never laxer than `escalateConfirm`."""
    write_policy(tmp_path, "inventory", changed("delegations", {"enabled": False}))
    (connection,) = load_connections(tmp_path)
    delegated = CallContext("copilot", "user", by="tool", delegated=True)
    tiers = {decide(ProposedCall(), endpoint.policy, delegated).tier for endpoint in connection.endpoints}
    assert tiers == {Tier.NEVER}


RESERVE = "endpoints|POST /reservations"
NO_CONFIRM: list[Any] = [False, 1, 1.0, "yes", "true", [], {}]
BAD_VALUES: list[tuple[str, Any, str]] = [
    *((f"{RESERVE}|confirm", value, '"review" or "never"') for value in NO_CONFIRM),
    (f"{RESERVE}|reason", "", "sentence"),
    (f"{RESERVE}|reason", "x" * 201, "sentence"),
    (f"{RESERVE}|returns", "part", "list"),
    (f"{RESERVE}|returns", [7], "list"),
    (f"{RESERVE}|thresholds", {}, "list"),
    (f"{RESERVE}|thresholds", ["body.quantity > 10"], "list"),
    (f"{RESERVE}|thresholds", [{"field": "quantity", "above": 1, "escalate": "review"}], "body. or query."),
    (f"{RESERVE}|thresholds", [{"field": "body.", "above": 1, "escalate": "review"}], "body. or query."),
    (f"{RESERVE}|thresholds", [{"field": "query.a.b", "above": 1, "escalate": "review"}], "body. or query."),
    (f"{RESERVE}|thresholds", [{"field": "body.a", "above": "10", "escalate": "review"}], "finite number"),
    (f"{RESERVE}|thresholds", [{"field": "body.a", "above": True, "escalate": "review"}], "finite number"),
    (f"{RESERVE}|thresholds", [{"field": "body.a", "above": 1, "escalate": "confirm"}], '"review" or "never"'),
    (f"{RESERVE}|thresholds", [{"field": "body.a", "above": 1}], "is required"),
    (f"{RESERVE}|thresholds", [{"field": "body.a", "above": 1, "escalate": "never"}] * 21, "at most 20"),
    (RESERVE, True, "an object"),
    ("auth|header", "Host", "header"),
    ("auth|header", "Idempotency-Key", "header"),
    ("auth|header", "X Token", "header"),
    ("auth|valueFromEnv", SECRET, "environment variable"),
    ("auth|valueFromEnv", "JWT_SECRET", "none of the desk's own"),
    ("auth", SECRET, "valueFromEnv"),
    ("delegations|enabled", 1, "true or false"),
    ("delegations|escalateConfirm", "true", "true or false"),
    ("limits|timeoutMs", 99, "100 to 60000"),
    ("limits|timeoutMs", 5000.5, "100 to 60000"),
    ("limits|maxResponseBytes", 2_000_000, "1 to 1048576"),
    ("limits|perMinute", 0, "1 to 10000"),
    ("endpoints", [], "METHOD /template"),
    ("endpoints", {}, "METHOD /template"),
    ("endpoints", {f"GET /{n}": {} for n in range(201)}, "1 to 200"),
    ("baseUrl", "inventory.example.com", "https://"),
    ("baseUrl", "ftp://inventory.example.com", "https://"),
    ("baseUrl", f"https://me:{SECRET}@inventory.example.com", "user name"),
    ("baseUrl", f"https://inventory.example.com/?key={SECRET}", "query"),
    ("baseUrl", "https://inventory.example.com/a/../b", "https://"),
    ("baseUrl", "https://inventory.example.com/a%2fb", "https://"),
    ("baseUrl", "https://inventory.example.com:99999/", "https://"),
    ("baseUrl", "https:///api", "https://"),
    ("baseUrl", None, "https://"),
]


@pytest.mark.parametrize(("path", "value", "allowed"), BAD_VALUES, ids=lambda value: str(value)[:40])
def test_a_bad_value_is_one_line_with_file_key_and_what_is_allowed(
    path: str, value: Any, allowed: str, tmp_path: Path
) -> None:
    """T-4: and never the value, which could be a secret."""
    (line,) = faults(tmp_path, changed(path, value))
    file, _, rest = line.partition(": ")
    assert file == "connections/inventory/policy.json"
    assert rest.startswith(path.replace("|", "."))
    assert allowed in rest
    assert SECRET not in line


@pytest.mark.parametrize(
    ("path", "beside"),
    [
        ("basUrl", "baseUrl, endpoints, auth, delegations, limits"),
        ("auth|value", "header, valueFromEnv"),
        ("auth|value_from_env", "header, valueFromEnv"),
        (f"{RESERVE}|confirmed", "returns, confirm, reason, thresholds"),
        ("delegations|escalate", "enabled, escalateConfirm"),
        ("limits|timeout", "timeoutMs, maxResponseBytes, perMinute"),
    ],
)
def test_an_unknown_key_is_refused_and_the_known_ones_are_told(path: str, beside: str, tmp_path: Path) -> None:
    """T-4: so a secret written into the file does not pass either."""
    (line,) = faults(tmp_path, changed(path, SECRET))
    told = f"{path.replace('|', '.')}: is not a known key; allowed here: {beside}"
    assert line == f"connections/inventory/policy.json: {told}"


@pytest.mark.parametrize(
    "key",
    [
        "GET parts", "get /parts", "HEAD /parts", "GET  /parts", "GET /parts/", "GET //parts", "GET /parts/../x",
        "GET /parts/{}", "GET /parts/{id}.json", "GET /parts/{1}", "GET /parts?x=1", "GET /pa%72ts", "GET /a b",
        "/parts", "GET", "* /parts", "GET /parts/*",
    ],
)  # fmt: skip
def test_a_bad_endpoint_is_refused(key: str, tmp_path: Path) -> None:
    """T-9: a template has one form only."""
    (line,) = faults(tmp_path, changed("endpoints", {"GET /": {}, key: {}}))
    assert line.startswith(f"connections/inventory/policy.json: endpoints.{key}: write METHOD /template")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Is not valid JSON"),
        ("[]", "Must be a JSON object"),
        ('{"baseUrl": "https://a.test", "endpoints": {"GET /": {}}} x', "Has text after"),
        ("{" * 9000, "Is not valid JSON"),
        ('{"a":' * 50 + "1" + "}" * 50, "nested"),
        ('{"baseUrl": "https://a.test", "baseUrl": "https://b.test", "endpoints": {"GET /": {}}}', "baseUrl: stands"),
        ('{"baseUrl": "https://a.test", "endpoints": {"GET /": {"confirm": "never", "confirm": true}}}', "confirm: st"),
        ('{"baseUrl": "https://a.test", "endpoints": {"GET /": {}}, "limits": {"perMinute": NaN}}', "perMinute: must"),
        (json.dumps(GOOD) + " " * MAX_BYTES, "must not be longer"),
    ],
)  # fmt: skip
def test_what_is_not_strict_json_is_refused(text: str, said: str, tmp_path: Path) -> None:
    """T-4: duplicate keys, NaN and trailing text too."""
    lines = faults(tmp_path, text)
    assert any(line.startswith("connections/inventory/policy.json: ") and said in line for line in lines), lines


def test_every_fault_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    """T-4: one line per fault."""
    folder = tmp_path / "connections"
    write_policy(folder, "one", changed("limits", {"perMinute": 0, "timeoutMs": 0}))
    write_policy(folder, "two", {"endpoints": {"GET /": {}}})
    write_policy(folder, "Three", GOOD)
    (folder / "four").mkdir()
    with pytest.raises(ConnectionFault) as raised:
        load_connections(folder)
    assert [line.split(": ")[0] for line in raised.value.lines] == [
        "connections/Three/policy.json",
        "connections/four/policy.json",
        "connections/one/policy.json",
        "connections/one/policy.json",
        "connections/two/policy.json",
    ]
    assert raised.value.lines[-1].endswith("baseUrl: is required: an https:// address without user name, password, "
                                           "query or fragment, at most 500 characters")  # fmt: skip


def test_more_connections_than_a_desk_holds_are_refused(tmp_path: Path) -> None:
    """T-4: everything has a bound."""
    for number in range(51):
        write_policy(tmp_path, f"c{number}", GOOD)
    with pytest.raises(ConnectionFault, match="at most 50"):
        load_connections(tmp_path)
