"""One spelling for every path and method, and which endpoints it means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.tools.connections.connection import Connections
from app.tools.connections.paths import Template, address, normal_path
from app.tools.connections.policy_file import load_connections
from app.tools.connections.request_arguments import RequestArguments
from app.tools.json_values import MAX_BYTES
from app.tools.policy import Tier
from tests.tools.connections.systems import write_policy


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("/x/42", "/x/42"),
        ("/", "/"),
        ("//x///42//", "/x/42"),
        ("/x/./42/.", "/x/42"),
        ("/y/../x/42", "/x/42"),
        ("/y/%2e%2E/x/42", "/x/42"),
        ("/y/.%2e/x/42", "/x/42"),
        ("/y/%252e%252e/x/42", "/x/42"),
        ("/%78/42", "/x/42"),
        ("/x%2F42", "/x/42"),
        ("/x%252f42", "/x/42"),
        ("/x%25252f42", "/x/42"),
        ("\\x\\42", "/x/42"),
        ("/x%5c42", "/x/42"),
        ("/y/..\\x/42", "/x/42"),
        (" /x/42 ", "/x/42"),
        ("/x/42/", "/x/42"),
        ("/x/a b", "/x/a b"),
        ("/x/a%20b", "/x/a b"),
        ("/x/Pumpe%20f%C3%BCr", "/x/Pumpe für"),
        ("/x/fu\u0308r", "/x/für"),
        ("/x/...", "/x/..."),
    ],
)
def test_a_path_is_brought_to_one_spelling(written: str, normal: str) -> None:
    """T-9, scenario 4.2: dots, double slashes, encoded slashes, backslashes, escapes of escapes."""
    assert normal_path(written) == normal
    assert normal_path(normal) == normal


@pytest.mark.parametrize(
    "written",
    [
        "", "x/42", "http://evil.example/x", "https:/x", "..", "/..", "/x/../../y", "/%2e%2e/x", "/x?y=1", "/x%3fy=1",
        "/x#y", "/x%23y", "/x;y=1", "/x%3By", "/x\x00", "/x%00", "/x%0d%0aHost:%20evil", "/x\n", "\t/x", "/x\x7f",
        "/x/%", "/x/100%25", "/x/%zz", "/x/%ff", "/x/%c0%ae%c0%ae/y", "/x/\u202e42", "/x/\u200b42", "/x/\ufeff",
        "/x\u2028y", "/x\u00a0y", "/x\u037ey", "/x／42", "/x/．．/y", "/x/․․/y", "/x/…/y", "/x＼y", "/x％2fy",
        "/x/ /y", "/x/%20..", "/x/..%20", "/x/42%20", "/" + "%25" * 20 + "41", "/" + "x" * 1024, "/x" * 33, "/\ud800",
    ],
)  # fmt: skip
def test_a_path_that_servers_could_read_differently_is_refused(written: str) -> None:
    """T-9, scenario 4.2: control characters, ?, #, NUL, look-alikes, and what leads above the beginning."""
    with pytest.raises(ValueError, match=r"^The path |^A segment of the path "):
        normal_path(written)


@given(st.text(alphabet="/.%2eEfF5cC\\ aAüU\u0308\u0130;x", max_size=40))
def test_a_normal_path_is_its_own_normal_form_and_stays_below_the_base(written: str) -> None:
    """T-9: what is shown is what is matched and sent."""
    try:
        normal = normal_path(written)
    except ValueError:
        return
    assert normal_path(normal) == normal
    sent = address("https://a.example/api", normal, None)
    assert sent.startswith("https://a.example/api/")
    assert not {".", "..", ""} & set(sent.removeprefix("https://a.example/api/").split("/")) or normal == "/"


def test_each_segment_and_parameter_is_escaped_anew() -> None:
    """T-9: the escapes that are sent are ours."""
    query = {"q": "a&b=c/ü", "n": 3, "x": 1.5, "on": True}
    sent = address("https://a.example/api", "/x/a b&ü", query)
    assert sent == "https://a.example/api/x/a%20b%26%C3%BC?q=a%26b%3Dc%2F%C3%BC&n=3&x=1.5&on=true"


@pytest.mark.parametrize(
    ("template", "path", "exact", "loose"),
    [
        ("/x/{id}", "/x/42", True, True),
        ("/x/{id}", "/x", False, False),
        ("/x/{id}", "/x/42/43", False, False),
        ("/x/{id}", "/X/42", False, True),
        ("/x/{id}", "/x./42", False, True),
        ("/x", "/x/42", False, False),
        ("/", "/", True, True),
        ("/{id}", "/", False, False),
        ("/x/special", "/x/SPECIAL", False, True),
        ("/{a}/{b}", "/x/42", True, True),
    ],
)
def test_a_template_stands_for_exactly_one_segment_each(template: str, path: str, exact: bool, loose: bool) -> None:
    """T-9, scenario 4.2."""
    assert Template(template).matches(path) is exact
    assert Template(template).may_match(path) is loose


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    """Endpoints that overlap."""
    endpoints = {
        "DELETE /x/{id}": {"confirm": True, "reason": "removes"},
        "DELETE /x/special": {"confirm": "never", "reason": "is special"},
        "POST /{kind}/{id}": {"thresholds": [{"field": "body.a", "above": 1, "escalate": "review"}]},
        "POST /x/{id}": {"confirm": "review", "thresholds": [{"field": "body.b", "above": 2, "escalate": "never"}]},
    }
    write_policy(tmp_path, "shop", {"baseUrl": "https://shop.example", "endpoints": endpoints})
    return load_connections(tmp_path)


def said(method: str, path: str, **more: Any) -> RequestArguments:
    arguments = {"connection": "shop", "method": method, "path": path, "intent": "write", **more}
    return RequestArguments.model_validate(arguments)


@pytest.mark.parametrize(
    ("method", "path", "tier"),
    [
        ("DELETE", "/x/42", Tier.CONFIRM),
        ("delete", "/x//42/", Tier.CONFIRM),
        ("Delete", "/y/..%2fx/42", Tier.CONFIRM),
        ("DELETE", "/x/special", Tier.NEVER),
        ("DELETE", "/x/SPECIAL", Tier.NEVER),
        ("DELETE", "/x/special.", Tier.NEVER),
        ("DELETE", "/x/%73pecial", Tier.NEVER),
        ("DELETE", "/X/42", Tier.NEVER),
        ("DELETE", "/x", Tier.NEVER),
        ("DELETE", "/x/42/43", Tier.NEVER),
        ("PUT", "/x/42", Tier.NEVER),
        ("GET", "/x/42", Tier.NEVER),
    ],
)
def test_the_strictest_endpoint_that_a_path_may_mean_holds(
    connections: Connections, method: str, path: str, tier: Tier
) -> None:
    """T-9, scenario 4.2: `DELETE /x/{id}` matches `/x/42` however it is spelt; no match is denied."""
    assert connections.policy_of(said(method, path).request()).confirm is tier


def test_overlapping_endpoints_add_up(connections: Connections) -> None:
    """T-6, T-9: the highest tier, the thresholds of both."""
    policy = connections.policy_of(said("POST", "/x/42", body={}).request())
    assert (policy.name, policy.confirm) == ("shop POST /{kind}/{id}", Tier.REVIEW)
    assert [threshold.field for threshold in policy.thresholds] == ["body.a", "body.b"]


def test_an_unknown_connection_is_denied(connections: Connections) -> None:
    """T-9, scenario 4.1."""
    policy = connections.policy_of(said("GET", "/x", connection="Shop", intent="read").request())
    assert (policy.confirm, policy.reason) == (Tier.NEVER, "unknown connection")


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "HEAD"}, {"method": 5}, {"intent": "confirmed"}, {"intent": None}, {"extra": 1},
        {"path": 5}, {"path": "x"}, {"query": []}, {"query": {"a": [1]}}, {"query": {"a": None}}, {"query": {"": 1}},
        {"query": {"a": float("inf")}}, {"query": {str(n): n for n in range(51)}}, {"query": {"a": "x" * 1001}},
        {"body": "text"}, {"body": 5}, {"body": {"a": 2**53}}, {"body": {"a": [-(2**60)]}},
        {"body": {"a": float("nan")}}, {"body": {"a": "x" * MAX_BYTES}}, {"body": {"a": "\x00"}},
        {"body": {"a": "\ud800"}}, {"method": "GET"},
        {"body": {"u\u0308": 1, "ü": 2}}, {"connection": ""}, {"connection": "x" * 41},
    ],
)  # fmt: skip
def test_arguments_that_are_not_exact_are_refused(wrong: dict[str, Any]) -> None:
    """T-10, D-9: no unknown field, no coercion, nothing without a canonical form, everything bounded."""
    with pytest.raises(ValidationError):
        said(**{"method": "POST", "path": "/x", "body": {}, **wrong})


def test_a_body_of_endless_depth_is_refused() -> None:
    """T-10, D-9."""
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(ValidationError):
        said("POST", "/x", body=deep)


def test_what_is_frozen_is_normal_and_leaves_out_what_is_absent() -> None:
    """T-9, T-10, D-8: the normalised path and method are frozen; texts are NFC and trimmed."""
    frozen = said(" post ", "/y/../x%2F42/", query=None, body={"a": [" fu\u0308r ", 1.5, None]}).frozen_args()
    assert frozen == {
        "connection": "shop",
        "method": "POST",
        "path": "/x/42",
        "body": {"a": ["für", 1.5, None]},
        "intent": "write",
    }
    assert RequestArguments.model_validate(frozen).frozen_args() == frozen
