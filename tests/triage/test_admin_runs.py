"""Everyone's runs for dispatchers: filters, pages, and no transcript without its audit row (AGT-8, D-20, D-30)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from bson import ObjectId

from app.core.mongo import Database
from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from app.runs.schemas import AgentMessagePublic, AgentRunPublic, AgentToolCallPublic, RunDetail
from app.triage.run_entries import entries, shown
from tests.conftest import Server, ShiftedClock
from tests.copilot.talk import open_session, say_to
from tests.triage.house import House, propose

RUNS = "/api/v1/admin/agents/runs"
SECRET = "the boiler code is 4711"


@pytest.fixture
def house(server: Server, model: ScriptedModel, clock: ShiftedClock, database: Database) -> House:
    return House(server.desk, model, clock, database)


@pytest.fixture
async def runs(server: Server, house: House) -> tuple[str, str]:
    """The ids of a triage run and of a copilot turn of the owner's, in which a change was approved."""
    house.model.add(propose(suggestedPriority="high"))
    order = await house.order("Pump P-204 leaks")
    await house.triage.claim_and_run()
    owner = await server.sign_in_as("owner")
    session = await open_session(owner)
    house.model.add(call("create_work_order", {"title": "New pump"}), say("Done."))
    async with say_to(owner, session, SECRET) as turn:
        asked = await turn.until("tool_approval_required")
        await owner.post(f"/api/v1/ai/tool-calls/{asked.data['toolCallId']}/decide", json={"approve": True})
        await turn.to_the_end()
    triage = str((await house.the(order))["runId"])
    (copilot,) = [row async for row in house.database["agentruns"].find({"mode": "copilot"})]
    return triage, str(copilot["_id"])


async def _items(client: httpx.AsyncClient, query: str = "") -> list[str]:
    answer = await client.get(RUNS + query)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["data"]["items"]]


async def _views(house: House) -> list[tuple[str, str]]:
    rows = house.database["agentconfigaudits"].find({"action": "transcript.view"}).sort("seq", 1)
    return [(row["agentName"], row["after"]["runId"]) async for row in rows]


async def test_runs_are_listed_newest_first_with_filters_and_pages(
    server: Server, house: House, runs: tuple[str, str]
) -> None:
    """AGT-8, D-30: `OffsetPage<AgentRun>` by mode, status and user; the list is no transcript, so no audit row."""
    triage, copilot = runs
    dispatcher = await server.sign_in_as("dispatcher")
    assert await _items(dispatcher) == [copilot, triage]
    assert await _items(dispatcher, "?mode=autonomous") == [triage]
    assert await _items(dispatcher, "?status=error") == []
    owner = await server.person("owner")
    assert await _items(dispatcher, f"?user={owner.id}&status=complete") == [copilot]
    page = (await dispatcher.get(f"{RUNS}?limit=1&page=2")).json()["data"]
    assert ([item["id"] for item in page["items"]], page["total"], page["limit"]) == ([triage], 2, 1)
    for bad in ("?mode=x", "?status=x", "?user=1", "?page=0", "?limit=101"):
        assert (await dispatcher.get(RUNS + bad)).status_code == 400
    assert await _views(house) == []


async def test_each_transcript_that_is_opened_is_on_record(server: Server, house: House, runs: tuple[str, str]) -> None:
    """D-20, SEC-11: by every door of an admin; a missing run leaves none."""
    triage, copilot = runs
    dispatcher = await server.sign_in_as("dispatcher")
    detail = (await dispatcher.get(f"{RUNS}/{copilot}")).json()["data"]
    assert SECRET in [message["content"] for message in detail["messages"]]
    assert detail["toolCalls"][0]["decision"]["tier"] == "confirm"
    await dispatcher.get(f"/api/v1/ai/runs/{copilot}")
    page = await dispatcher.get(f"/app/admin/agents/runs/{triage}")
    assert "is on record (audit row 3)" in page.text
    assert (await dispatcher.get(f"{RUNS}/{ObjectId()}")).status_code == 404
    assert (await dispatcher.get(f"{RUNS}/nonsense")).status_code == 400
    assert await _views(house) == [("copilot", copilot), ("copilot", copilot), ("triage", triage)]


async def test_one_s_own_run_is_not_audited_and_another_s_is_not_there(
    server: Server, house: House, runs: tuple[str, str]
) -> None:
    """D-30, SEC-14: `/ai/runs/:id` is the owner's; a dispatcher's look at another's is audited."""
    _, copilot = runs
    assert (await (await server.sign_in_as("owner")).get(f"/api/v1/ai/runs/{copilot}")).status_code == 200
    for who in ("stranger", "viewer"):
        assert (await (await server.sign_in_as(who)).get(f"/api/v1/ai/runs/{copilot}")).status_code == 404
    assert await _views(house) == []


async def test_the_page_of_runs_names_nobody_s_words(server: Server, runs: tuple[str, str]) -> None:
    """D-20: the list shows whose turn it was and which order was triaged, not what was said."""
    dispatcher = await server.sign_in_as("dispatcher")
    page = (await dispatcher.get("/app/admin/agents/runs")).text
    assert ("Pump P-204 leaks" in page, "Conversation of Rosa Lind" in page, SECRET in page) == (True, True, False)
    narrowed = (await dispatcher.get("/app/admin/agents/runs?mode=copilot&status=nonsense&page=x")).text
    assert ("Pump P-204 leaks" in narrowed, "Conversation of Rosa Lind" in narrowed) == (False, True)
    owner = await server.person("owner")
    assert "Only Rosa Lind, remove" in (await dispatcher.get(f"/app/admin/agents/runs?user={owner.id}")).text


async def test_the_page_of_a_run_shows_calls_decision_and_proof(server: Server, runs: tuple[str, str]) -> None:
    """AGT-8, T-13, D-8: and nothing there can be decided for another."""
    dispatcher = await server.sign_in_as("dispatcher")
    page = (await dispatcher.get(f"/app/admin/agents/runs/{runs[1]}")).text
    proof = ('<b class="tier tier-confirm">confirm</b>', "risk write (level 1)", "<code>T-2</code>")
    for words in (SECRET, "create_work_order", "Approved by Rosa Lind", *proof):
        assert words in page
    assert "Arguments run" in page
    assert "/decide" not in page


def test_entries_stand_in_the_order_they_happened() -> None:
    """SEC-11: a message that only repeats a call's result is left out."""
    at = [datetime(2026, 11, 25, 10, minute, tzinfo=UTC) for minute in range(4)]
    run = "0" * 24

    def said(number: int, role: Any, **fields: Any) -> AgentMessagePublic:
        values = {"id": str(number), "run_id": run, "role": role, "content": f"m{number}", "created_at": at[number]}
        return AgentMessagePublic(**(values | fields))

    called = AgentToolCallPublic(
        id="c", run_id=run, tool="t", args={"a": 1}, outcome="executed", latency_ms=1, created_at=at[1]
    )
    messages = [said(0, "user"), said(2, "tool", tool_call_id="c"), said(3, "assistant")]
    record = AgentRunPublic(
        id=run,
        mode="copilot",
        actor_id=None,
        status="complete",
        model="m",
        input_tokens=1,
        output_tokens=1,
        started_at=at[0],
    )
    detail = RunDetail(run=record, messages=messages, tool_calls=[called])
    assert [(entry.kind, entry.text or entry.title) for entry in entries(detail, {})] == [
        ("message", "m0"),
        ("call", "t"),
        ("message", "m3"),
    ]


def test_what_has_no_shape_of_its_own_is_shown_as_its_code() -> None:
    """D-8: an admin sees what a person could not."""
    assert shown("a\u202eb\u200bc\x00d\ne\tf é") == "a\\u202eb\\u200bc\\u0000d\ne\tf é"
    assert shown({"é": "\u2066"}) == '{\n  "é": "\\u2066"\n}'
    assert shown(None) == ""
