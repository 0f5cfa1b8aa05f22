"""A real language model behind a real server, both from the extra `local-model`: weak-minded, and nothing goes astray.

Asked for by `make test-local-model` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.core.mongo import Database
from app.local.local_model import local_model, settings_for
from app.triage.schemas import Proposal
from app.work_orders.seed_data import sample_orders
from tests.conftest import Server
from tests.copilot.talk import Listener, open_session, say_to
from tests.triage.house import House

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(900)]

ORDERS, UNSCHOOLED, ATTEMPTS, CALLS_PER_PASS = 30, 3, 3, 2
LAST_WORDS = {"AI_UNAVAILABLE", "AI_BUDGET_EXCEEDED", "ABORTED", "LOOP_DETECTED", "TOOL_ERRORS"}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with local_model(tmp_path_factory.mktemp("local-model")) as found:
        yield found


@pytest.fixture
def overrides(address: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    printed = {key.lower(): value for key, value in settings_for(address).items()}
    return printed | {"agent_max_attempts": ATTEMPTS} | getattr(request, "param", {})


async def test_thirty_seeded_orders_end_with_a_proposal_each(house: House) -> None:
    """Issue 5.12, D-25, AGT-2, SEC-3: held to the schema, a tiny model makes thirty valid proposals."""
    await _order(house, ORDERS)
    await _to_the_end(house)
    assert await house.database["triagesuggestions"].count_documents({}) == ORDERS
    assert await house.database["outboxevents"].count_documents({"status": "done", "outcome": "done"}) == ORDERS
    await _assert_orderly(house)


@pytest.mark.parametrize("overrides", [{"ai_structured_output": "off", "ai_max_output_tokens": 80}], indirect=True)
async def test_without_the_schema_every_failure_is_retried_bounded_and_recorded(house: House) -> None:
    """Issue 5.12, AGT-5, SEC-3: what is no proposal is never one; the events end, with the reason."""
    await _order(house, UNSCHOOLED)
    await _to_the_end(house)
    async for event in house.database["outboxevents"].find({"status": "failed"}):
        assert event["attempts"] == ATTEMPTS
        assert event["lastError"].startswith("The answer was no proposal.")
    await _assert_orderly(house)


async def test_a_turn_of_the_copilot_comes_to_its_end(
    server: Server, owner: httpx.AsyncClient, database: Database
) -> None:
    """Issue 5.12, D-9, D-23: whatever the model says, one last event, nothing left open, no order changed."""
    await owner.post("/api/v1/work-orders", json={"title": "Pump P-204 leaks", "priority": "low"})
    session = await open_session(owner)
    async with say_to(owner, session, "Which of my work orders are still open?") as stream:
        heard = await stream.to_the_end()
        _assert_told_properly(stream)
    run = await database["agentruns"].find_one({"mode": "copilot"})
    assert run is not None
    assert (run["status"] == "complete") == (heard[-1].name == "message_done")
    assert run["status"] in {"complete", "error", "budget_exceeded"}
    assert await database["agenttoolcalls"].count_documents({"outcome": {"$in": ["pending", "approved"]}}) == 0
    assert [row["version"] async for row in database["workorders"].find()] == [1]
    assert (await server.desk.ledger.today()).open == {}


@pytest.fixture
async def owner(server: Server) -> httpx.AsyncClient:
    client = await server.sign_in_as("owner")
    client.timeout = httpx.Timeout(300)
    return client


async def _order(house: House, count: int) -> None:
    """The first orders of the seed, made anew, so that each has its event."""
    person = await house.person("owner")
    for sample in sample_orders(house.clock.now(), person.id, person.id)[:count]:
        await house.order(sample.title, description=sample.description)


async def _to_the_end(house: House) -> None:
    """Drains, and lets the time of each retry come."""
    for _ in range(ATTEMPTS + 1):
        await house.triage.claim_and_run()
        if not await house.database["outboxevents"].count_documents({"status": {"$in": ["pending", "processing"]}}):
            return
        house.later(minutes=10)
    raise AssertionError("an event hangs")


async def _assert_orderly(house: House) -> None:
    """Every event ended, with one valid suggestion or none; every call was counted, paid and kept; no order moved."""
    events = [event async for event in house.database["outboxevents"].find()]
    assert {event["status"] for event in events} <= {"done", "failed"}
    suggestions = [row async for row in house.database["triagesuggestions"].find()]
    done = sorted(event["payloadRef"] for event in events if event["status"] == "done")
    assert done == sorted(str(row["workOrderId"]) for row in suggestions)
    for row in suggestions:
        Proposal.model_validate(
            {
                "summary": row["summary"],
                "suggestedPriority": row["suggestedPriority"],
                "flagForDispatcher": row["modelFlagged"],
            }
        )
    assert {run["status"] for run in await house.runs()} <= {"complete", "error"}
    calls, spend = await house.calls(), await house.spend()
    assert {call["outcome"] for call in calls} <= {"executed", "error"}
    assert len(calls) == spend["actions"]["triage"] <= len(events) * ATTEMPTS * CALLS_PER_PASS
    assert spend.get("open", {}) == {}
    assert spend["spentUsd"] > 0
    assert {order["version"] async for order in house.database["workorders"].find()} == {1}


def _assert_told_properly(stream: Listener) -> None:
    told = [event for event in stream.heard if event.name != "ping"]
    assert [event.name in ("message_done", "error") for event in told] == [False] * (len(told) - 1) + [True]
    started = [event.data["toolCallId"] for event in stream.named("tool_call_start")]
    assert sorted(started) == sorted(event.data["toolCallId"] for event in stream.named("tool_result"))
    if told[-1].name == "error":
        assert told[-1].data["code"] in LAST_WORDS
