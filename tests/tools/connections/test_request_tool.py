"""The `request` tool against the demonstration systems: proposed, then sent once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.tools.connections.description import MAX_CHARS as MAX_DESCRIPTION
from app.tools.connections.request_arguments import RequestArguments
from app.tools.connections.request_tool import RequestTool
from app.tools.tool import HasHandshake, HasOwnPolicies, ReadTool, RunsOnce, ToolFault, WriteTool
from app.web.limits import RateLimiter
from tests.tools.connections.calling import ACTOR, CALL, RESERVE, asked, sent, tool_over
from tests.tools.connections.systems import ENVIRONMENT, SHIPPED, Systems, running_systems, write_policy


@pytest.fixture
async def systems(tmp_path: Path) -> AsyncIterator[Systems]:
    async with running_systems(tmp_path / "connections") as running:
        yield running


@pytest.fixture
def tool(systems: Systems, limiter: RateLimiter) -> RequestTool:
    return tool_over(systems.folder, limiter)


async def test_it_is_every_kind_of_tool_that_the_runtime_asks_for(tool: RequestTool) -> None:
    """T-10."""
    for kind in (ReadTool, WriteTool, HasOwnPolicies, HasHandshake, RunsOnce):
        assert isinstance(tool, kind)


async def test_a_read_is_sent_and_answers_status_and_body(tool: RequestTool, systems: Systems) -> None:
    """T-10: in the one spelling of its path, with the secret."""
    args = asked("get", "/x/..//parts/%50MP-2040/", intent="read", query={"search": "a&b"})
    result = json.loads((await tool.read(ACTOR, args)).text)
    assert (result["status"], result["body"]["sku"]) == (200, "PMP-2040")
    (request,) = systems.inventory.requests
    assert request.target == "/api/parts/PMP-2040?search=a%26b"
    assert request.headers["authorization"] == ENVIRONMENT["INVENTORY_TOKEN"]
    assert "idempotency-key" not in request.headers


async def test_a_proposal_sends_nothing_and_gives_a_preview(tool: RequestTool, systems: Systems) -> None:
    """T-10: the first side of the handshake."""
    staged = await tool.stage(ACTOR, RESERVE, CALL)
    assert (staged.target, staged.version, staged.pre_image) == (CALL, None, None)
    assert staged.summary == "POST /reservations on inventory"
    executed = await tool.execute(ACTOR, staged, CALL)
    assert executed.result["preview"] == staged.after_diff == RESERVE.request()
    assert (executed.result["approved"], executed.result["method"]) == (True, "POST")
    assert "confirmed_write" in executed.result["instruction"]
    assert systems.inventory.requests == []


async def test_a_confirmed_call_is_sent_once_with_its_key(tool: RequestTool, systems: Systems) -> None:
    """T-10, D-5: `Idempotency-Key` is the call's id; a system that honours it does nothing twice."""
    result = await sent(tool, RESERVE)
    assert (result["status"], result["body"]["quantity"]) == (201, 10)
    (request,) = systems.inventory.requests
    assert (request.headers["idempotency-key"], request.body) == (str(CALL), {"sku": "SEA-0118", "quantity": 10})
    assert await sent(tool, RESERVE) == result
    assert len(systems.inventory.reservations) == 1


async def test_the_second_side_is_the_first_but_for_its_intent(tool: RequestTool) -> None:
    """T-10, D-5."""
    proposed = RESERVE.frozen_args()
    confirmed = tool.confirmed(proposed)
    assert confirmed == proposed | {"intent": "confirmed_write"}
    assert tool.handshake(proposed) == tool.handshake(confirmed) == RESERVE.request()
    assert [tool.is_confirmed(RequestArguments.model_validate(args)) for args in (proposed, confirmed)] == [False, True]
    assert [tool.runs_once(args) for args in (proposed, confirmed)] == [False, True]


async def test_a_change_is_never_sent_as_a_read(tool: RequestTool, systems: Systems) -> None:
    """T-10."""
    with pytest.raises(ToolFault, match="Only GET"):
        await tool.read(ACTOR, RESERVE)
    assert systems.inventory.requests == []


@pytest.mark.parametrize(
    "args",
    [
        asked("DELETE", "/parts/SEA-0118"),
        asked("DELETE", "/parts%2FSEA-0118"),
        asked("PUT", "/parts/SEA-0118", body={}),
        asked("POST", "/messages", body={"to": "a", "text": "b"}),
        asked("POST", "/reservations", on="warehouse"),
    ],
)
async def test_what_no_policy_allows_is_not_sent_even_past_the_gate(
    tool: RequestTool, systems: Systems, args: RequestArguments
) -> None:
    """T-4, T-9, scenarios 4.1 and 4.2."""
    with pytest.raises(ToolFault, match="not allowed"):
        await sent(tool, args)
    assert systems.inventory.requests == systems.notifications.requests == []


async def test_the_notification_hook_takes_a_message(tool: RequestTool, systems: Systems) -> None:
    """T-10: the second shipped connection."""
    result = await sent(tool, asked("POST", "/messages", on="notifications", body={"to": "Kay", "text": "Pump is in."}))
    assert result == {"status": 202, "body": {"id": "M-0001", "accepted": True}}
    assert systems.notifications.messages == [{"id": "M-0001", "to": "Kay", "text": "Pump is in."}]


async def test_a_refusal_of_the_system_is_a_plain_fault(tool: RequestTool, systems: Systems) -> None:
    """T-10: its status and a piece of what it said."""
    with pytest.raises(ToolFault) as raised:
        await sent(tool, asked("POST", "/reservations", body={"sku": "PMP-2040", "quantity": 9}))
    assert raised.value.message == 'inventory answered 409: {"message": "Only 6 of PMP-2040 are free."}'
    assert systems.inventory.reservations == []


async def test_calls_beyond_the_minute_s_share_are_not_sent(systems: Systems, limiter: RateLimiter) -> None:
    """T-10: counted over all processes that share Redis."""
    policy = json.loads((systems.folder / "inventory" / "policy.json").read_text())
    write_policy(systems.folder, "inventory", policy | {"limits": {"perMinute": 2}})
    one, other = tool_over(systems.folder, limiter), tool_over(systems.folder, limiter)
    look = asked("GET", "/parts", intent="read")
    await one.read(ACTOR, look)
    await other.read(ACTOR, look)
    with pytest.raises(ToolFault, match="2 times a minute"):
        await one.read(ACTOR, look)
    assert len(systems.inventory.requests) == 2


@pytest.mark.parametrize(
    ("token", "said"), [("", "INVENTORY_TOKEN is missing"), ("a\r\nX: b", "no header can carry"), ("ü", "no header")]
)
async def test_without_its_secret_a_connection_is_refused(
    systems: Systems, limiter: RateLimiter, token: str, said: str
) -> None:
    """T-10: what is missing is said."""
    tool = tool_over(systems.folder, limiter, INVENTORY_TOKEN=token)
    with pytest.raises(ToolFault, match=said):
        await tool.read(ACTOR, asked("GET", "/parts", intent="read"))
    assert systems.inventory.requests == []


async def test_an_address_that_is_refused_here_is_not_called(systems: Systems, limiter: RateLimiter) -> None:
    """T-10, D-19: loopback and http need the local exception."""
    tool = tool_over(systems.folder, limiter, allow_local=False)
    with pytest.raises(ToolFault, match="not set up: its address must start with https://"):
        await tool.read(ACTOR, asked("GET", "/parts", intent="read"))
    assert systems.inventory.requests == []


def test_the_description_lists_what_may_be_called_and_nothing_else(limiter: RateLimiter) -> None:
    """T-10: made from the policies."""
    description = tool_over(SHIPPED, limiter).description
    assert "- GET /parts (returns" in description
    assert "needs confirmation; reserves stock; body.quantity above 10: review" in description
    assert "notifications:" in description
    assert "DELETE" not in description


def test_the_description_has_an_end(tmp_path: Path, limiter: RateLimiter) -> None:
    """T-10: it is part of every prompt."""
    endpoints = {f"GET /things-{number}/{{id}}": {"reason": "x" * 100} for number in range(200)}
    write_policy(tmp_path, "many", {"baseUrl": "https://many.example", "endpoints": endpoints})
    description = tool_over(tmp_path, limiter).description
    assert len(description) <= MAX_DESCRIPTION
    assert description.endswith("more lines that are not shown)")


async def test_the_names_of_all_endpoints_that_are_meant_are_told(tool: RequestTool) -> None:
    """T-9: what was raised for any of them holds."""
    assert tool.names_of(asked("GET", "/parts/42", intent="read")) == ("inventory GET /parts/{sku}",)
    assert tool.names_of(asked("GET", "/nowhere", intent="read")) == ()
    assert len(tool.endpoint_policies) == 5
