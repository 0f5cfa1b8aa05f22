"""Who may talk to the copilot, how much, and what of the past goes along (D-4, D-10, D-22, COP-1, SEC-8)."""

from __future__ import annotations

import asyncio

import pytest

from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.crowd import crowd
from tests.copilot.stage import READ, assert_valid_for_the_provider, csrf_of, proposal, told, turn
from tests.copilot.talk import make_order, open_session, say_to

AI_OFF = [{"ai_enabled": False}]
JSON_DOORS = [
    ("POST", "/api/v1/ai/sessions"), ("GET", "/api/v1/ai/sessions"), ("GET", "/api/v1/ai/runs"),
    ("GET", "/api/v1/ai/approvals"), ("POST", f"/api/v1/ai/sessions/{'a' * 24}/messages"),
    ("POST", f"/api/v1/ai/tool-calls/{'a' * 24}/decide"), ("GET", f"/api/v1/ai/runs/{'a' * 24}/events"),
]  # fmt: skip


@pytest.mark.parametrize("overrides", AI_OFF)
async def test_a_desk_without_ai_says_so_after_authentication(server: Server) -> None:
    """D-22: 401 before, 503 AI_UNAVAILABLE after; everything else works; the drawer says how to turn it on."""
    nobody, owner = await server.client(), await server.sign_in_as("owner")
    for method, path in JSON_DOORS:
        body = {"content": "hi", "approve": True} if method == "POST" else None
        assert (await nobody.request(method, path, json=body)).status_code == 401
        answer = await owner.request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "AI_UNAVAILABLE"), path
    await make_order(owner)
    for path in ("/app/copilot", "/app/copilot/drawer", "/app/approvals", "/app/runs", "/app/work-orders"):
        assert (await owner.get(path)).status_code == 200
    drawer = (await owner.get("/app/copilot")).text
    assert "AI is not switched on" in drawer
    assert "A dispatcher can turn it on" in drawer
    dispatcher = await server.sign_in_as("dispatcher")
    assert "AI_ENABLED=true" in (await dispatcher.get("/app/copilot/drawer")).text


async def test_nobody_talks_without_signing_in(server: Server) -> None:
    """D-6, AUTH-5: 401 for every JSON door, the sign-in page for the others."""
    nobody = await server.client()
    for method, path in JSON_DOORS:
        assert (await nobody.request(method, path)).status_code == 401
    for path in ("/app/copilot", "/app/approvals", "/app/runs"):
        assert (await nobody.get(path)).status_code in (302, 303)


async def test_a_person_who_opted_out_is_not_served(server: Server, model: ScriptedModel) -> None:
    """COP-1, SEC-8: 403 for a session and a message; no provider call; the drawer says why."""
    owner = await server.sign_in_as("owner")
    session = await open_session(owner)
    person = await server.person("owner")
    await server.desk.database["users"].update_one({"_id": person.id}, {"$set": {"aiEnabled": False}})
    for path, body in (("sessions", {}), (f"sessions/{session}/messages", {"content": "hello"})):
        answer = await owner.post(f"/api/v1/ai/{path}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN"), path
    assert "AI is switched off for your account" in (await owner.get("/app/copilot")).text
    assert model.requests == []


async def test_opting_out_in_the_middle_of_a_turn_refuses_what_follows(server: Server, model: ScriptedModel) -> None:
    """SEC-8, T-12: what waits may be rejected; the model hears no more of the person."""
    async with proposal(server, model, call(READ), say("So.")) as waiting:
        person = await server.person("owner")
        await server.desk.database["users"].update_one({"_id": person.id}, {"$set": {"aiEnabled": False}})
        assert (await waiting.decide(approve=False)).status_code == 200
        heard = len(model.requests)
        end = (await waiting.stream.to_the_end())[-1]
        assert (end.name, end.data["code"]) == ("error", "ABORTED")
        assert waiting.stream.named("tool_result")[-1].data["outcome"] == "rejected"
        assert len(model.requests) == heard
        assert (await waiting.order_now())["version"] == 1


@pytest.mark.parametrize("content", ["", "   ", "x" * 4001, "nul\x00", 7, None])
async def test_a_message_has_one_to_four_thousand_characters(
    server: Server, model: ScriptedModel, content: object
) -> None:
    """COP-2: 400 as JSON before any stream; nothing is started."""
    owner = await server.sign_in_as("owner")
    answer = await owner.post(f"/api/v1/ai/sessions/{await open_session(owner)}/messages", json={"content": content})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert model.requests == []


@pytest.mark.parametrize("overrides", [{"ai_rate_limit_max": 2}])
async def test_stream_starts_are_limited_per_person(server: Server, model: ScriptedModel) -> None:
    """003 §4.7: 429 with Retry-After; refused messages and another person do not count."""
    owner, stranger = await server.sign_in_as("owner"), await server.sign_in_as("stranger")
    session = await open_session(owner)
    for _ in range(2):
        await turn(owner, model, say("ok"), session=session)
    answer = await owner.post(f"/api/v1/ai/sessions/{session}/messages", json={"content": "hello"})
    assert (answer.status_code, "retry-after" in answer.headers) == (429, True)
    assert (await turn(stranger, model, say("ok"))).heard[-1].name == "message_done"


async def test_one_active_conversation_per_person(server: Server) -> None:
    """COP-1: ten opened at once leave one active, whoever wins; a closed one takes no message."""
    owner = await server.sign_in_as("owner")
    answers = await asyncio.gather(*(owner.post("/api/v1/ai/sessions") for _ in range(10)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    active = await server.desk.database["copilotsessions"].count_documents({"status": "active"})
    assert active == 1
    session = await open_session(owner)
    assert (await owner.delete(f"/api/v1/ai/sessions/{session}")).status_code == 204
    closed = await owner.post(f"/api/v1/ai/sessions/{session}/messages", json={"content": "hello"})
    assert closed.status_code == 409


# -- money -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overrides", [{"ai_global_daily_spend_usd": 0.01}])
async def test_parallel_runs_at_the_edge_overshoot_by_one_call(server: Server, model: ScriptedModel) -> None:
    """D-10, scenario 3.2: twenty people at once; the cap holds but for one call, the rest hear why."""
    people = await crowd(server, 20)
    model.add(*(say("ok", usage=None) for _ in people))

    async def ask(client: object) -> str:
        async with say_to(client, await open_session(client), "hello") as stream:  # type: ignore[arg-type]
            return str((await stream.to_the_end())[-1].data.get("code", "done"))

    ends = await asyncio.gather(*(ask(client) for client in people))
    assert set(ends) == {"done", "AI_BUDGET_EXCEEDED"}
    day = await server.desk.ledger.today()
    one_call = day.spent_usd / ends.count("done")
    assert day.spent_usd - one_call < 0.01 <= day.spent_usd
    assert day.open == {}
    assert len(model.requests) == ends.count("done")


@pytest.mark.parametrize("overrides", [{"ai_daily_spend_usd": 0.0}])
async def test_a_cap_of_nothing_asks_nobody(server: Server, model: ScriptedModel) -> None:
    """003 §4.7: refused before the first call, as an event of the run."""
    owner = await server.sign_in_as("owner")
    stream = await turn(owner, model)
    assert [(event.name, event.data.get("code")) for event in stream.heard] == [("error", "AI_BUDGET_EXCEEDED")]
    assert model.requests == []


# -- the past ----------------------------------------------------------------------------------------------------


async def test_earlier_turns_go_along_with_their_results(server: Server, model: ScriptedModel) -> None:
    """D-4: the same conversation's turns in order; a new conversation begins with nothing."""
    owner = await server.sign_in_as("owner")
    await make_order(owner, title="Lift stuck")
    session = await open_session(owner)
    await turn(owner, model, call(READ), say("One order."), words="what is there?", session=session)
    await turn(owner, model, say("It is stuck."), words="what about it?", session=session)
    body = model.requests[-1]
    assert_valid_for_the_provider(body)
    assert [message["role"] for message in body["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert "Lift stuck" in told(body)[0]
    await turn(owner, model, say("Hello."), words="hello")
    assert [message["role"] for message in model.requests[-1]["messages"]] == ["system", "user"]


@pytest.mark.parametrize("overrides", [{"ai_max_context_tokens": 4_000, "ai_max_output_tokens": 100}])
async def test_the_past_fits_the_budget_newest_first_and_stays_valid(server: Server, model: ScriptedModel) -> None:
    """D-4, 003 §4.7: results are trimmed first, then the oldest turns go; the question itself always stays."""
    owner = await server.sign_in_as("owner")
    for number in range(10):
        await make_order(owner, title=f"Order {number}", description="words " * 60)
    session = await open_session(owner)
    for number in range(6):
        await turn(
            owner, model, call(READ), say(f"answer {number}"), words=f"question {number} {'x' * 900}", session=session
        )
        assert_valid_for_the_provider(model.requests[-1])
    await turn(owner, model, say("ok"), words="the last question", session=session)
    messages = model.requests[-1]["messages"]
    assert_valid_for_the_provider(model.requests[-1])
    said = [message["content"] for message in messages if message["role"] == "user"]
    assert said[-1] == "the last question"
    kept = [words.split()[1] for words in said[:-1]]
    assert kept == [str(number) for number in range(6)][-len(kept) :]
    assert 0 < len(kept) < 6
    assert sum(len(message.get("content") or "") for message in messages) < 4_000 * 5


@pytest.mark.parametrize("overrides", [{"ai_max_context_tokens": 3_000, "ai_max_output_tokens": 100}])
async def test_a_long_turn_shortens_its_oldest_results(server: Server, model: ScriptedModel) -> None:
    """D-4: the current turn stays whole in its calls; every call keeps a result."""
    owner = await server.sign_in_as("owner")
    for number in range(10):
        await make_order(owner, title=f"Order {number}", description="words " * 60)
    reads = [call("search_my_work_orders", {"search": f"Order{' ' if n else ''}".strip()[: 5 - n]}) for n in range(3)]
    await turn(owner, model, *reads, say("ok"), words="look three times")
    body = model.requests[-1]
    assert_valid_for_the_provider(body)
    assert len(told(body)) == 3
    assert "left out" in told(body)[0]
    assert "left out" not in told(body)[-1]


async def test_the_order_on_the_screen_is_named_to_the_model(server: Server, model: ScriptedModel) -> None:
    """Issue 4.7: only where the person may see it."""
    owner, stranger = await server.sign_in_as("owner"), await server.sign_in_as("stranger")
    order = await make_order(stranger, title="Not for Rosa")
    form = {"message": "what is this?", "workOrderId": order["id"], "_csrf_token": await csrf_of(owner)}
    model.add(say("I do not know."))
    assert (await owner.post("/app/copilot/messages", data=form)).status_code == 303
    [body] = await model.received(1)
    assert "Not for Rosa" not in str(body)
