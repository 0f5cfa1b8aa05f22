"""Who may talk at the console's door, in which chat, and in which order that is looked at (T-14)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from bson import ObjectId

from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.console_talk import CHAT, chat, refusal, whole_chat
from tests.copilot.talk import open_session

AI_OFF = [{"ai_enabled": False}]


async def test_without_a_chat_it_is_the_active_one(server: Server, model: ScriptedModel) -> None:
    """T-14: made when there is none, then the same again; the earlier turn goes along (D-4)."""
    owner = await server.sign_in_as("owner")
    first = await whole_chat(owner, model, say("One."), message="count")
    second = await whole_chat(owner, model, say("Two."), message="on")
    named = await whole_chat(owner, model, say("Three."), message="on", chat_id=first[0].data["chat_id"])
    assert len({heard[0].data["chat_id"] for heard in (first, second, named)}) == 1
    assert [message["content"] for message in model.requests[-1]["messages"][1:]] == [
        "count", "One.", "on", "Two.", "on",
    ]  # fmt: skip


async def test_another_persons_chat_is_not_there(server: Server, model: ScriptedModel) -> None:
    """T-14, SEC-14: 404, as for one that never was; a closed one of one's own is 409."""
    owner, stranger = await server.sign_in_as("owner"), await server.sign_in_as("stranger")
    mine, theirs = await open_session(owner), await open_session(stranger)
    for unknown in (theirs, str(ObjectId())):
        answer = await owner.post(CHAT, json={"chatId": unknown, "message": "hello"})
        assert refusal(answer) == (404, "NOT_FOUND")
    await owner.delete(f"/api/v1/ai/sessions/{mine}")
    closed = await owner.post(CHAT, json={"chatId": mine, "message": "hello"})
    assert refusal(closed) == (409, "CONFLICT_VERSION")
    assert "closed" in closed.json()["error"]["message"]
    assert model.requests == []


async def test_whose_chat_it_is_comes_before_what_may_be_reached(server: Server, model: ScriptedModel) -> None:
    """T-14: session, ownership, reach; then the run. A person without AI hears 404 of another's chat, 403 of theirs."""
    owner, stranger = await server.sign_in_as("owner"), await server.sign_in_as("stranger")
    mine, theirs = await open_session(owner), await open_session(stranger)
    dispatcher = await server.sign_in_as("dispatcher")
    await dispatcher.post("/api/v1/admin/agents/disable", json={"scope": "all"})
    assert refusal(await owner.post(CHAT, json={"chatId": theirs, "message": "hi"})) == (404, "NOT_FOUND")
    assert refusal(await owner.post(CHAT, json={"chatId": mine, "message": "hi"})) == (503, "AI_UNAVAILABLE")
    await owner.patch("/api/v1/users/me", json={"aiOptOut": True})
    assert refusal(await owner.post(CHAT, json={"chatId": theirs, "message": "hi"})) == (404, "NOT_FOUND")
    for body in ({"message": "hi"}, {"chatId": mine, "message": "hi"}):
        assert refusal(await owner.post(CHAT, json=body)) == (403, "FORBIDDEN")
    assert model.requests == []


@pytest.mark.parametrize("overrides", AI_OFF)
@pytest.mark.parametrize(
    ("path", "body"),
    [(CHAT, {"message": "hi"}), ("/api/ai/confirm", {"confirmation_token": "x" * 43, "approve": True})],
)
async def test_a_desk_without_ai_says_so_after_authentication(server: Server, path: str, body: dict[str, Any]) -> None:
    """D-22, T-14: 401 before, 503 AI_UNAVAILABLE after."""
    nobody, owner = await server.client(), await server.sign_in_as("owner")
    assert refusal(await nobody.post(path, json=body)) == (401, "UNAUTHORIZED")
    assert refusal(await owner.post(path, json=body)) == (503, "AI_UNAVAILABLE")


@pytest.mark.parametrize(
    "body",
    [
        {}, {"message": ""}, {"message": "x" * 4001}, {"message": 7}, {"message": "hi", "chatId": "no-id"},
        {"message": "hi", "extra": 1}, {"message": "hi", "chat_id": "a" * 24}, {"message": "nul\x00"}, [], "hi",
    ],
)  # fmt: skip
async def test_a_body_that_is_not_strict_starts_nothing(server: Server, model: ScriptedModel, body: object) -> None:
    """T-14, HTTP-2: 400 as JSON, before any stream."""
    owner = await server.sign_in_as("owner")
    assert refusal(await owner.post(CHAT, json=body)) == (400, "VALIDATION_ERROR")
    assert model.requests == []


@pytest.mark.parametrize("path", [CHAT, "/api/ai/confirm"])
async def test_the_consoles_doors_are_guarded_like_the_others(server: Server, path: str) -> None:
    """HTTP-2, HTTP-6: foreign origins 403, other content types 415, forbidden keys and large bodies refused."""
    owner = await server.sign_in_as("owner")
    body = {"message": "hi"}

    async def sent(**options: Any) -> httpx.Response:
        return await owner.post(path, **options)

    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert refusal(await sent(json=body, headers=headers)) == (403, "FORBIDDEN")
    assert refusal(await sent(data=body)) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert refusal(await sent(json=body | {"$where": "1"})) == (400, "VALIDATION_ERROR")
    assert refusal(await sent(json={"message": "x" * 40_000})) == (413, "PAYLOAD_TOO_LARGE")
    refused = await sent(json={}, headers={"X-Request-Id": "trace-7"})
    assert (refused.json()["requestId"], refused.headers["x-request-id"]) == ("trace-7", "trace-7")


@pytest.mark.parametrize("overrides", [{"ai_rate_limit_max": 2}])
async def test_starts_are_counted_with_those_of_the_other_door(server: Server, model: ScriptedModel) -> None:
    """T-14, HTTP-4: one limit for a person, whichever dialect."""
    owner = await server.sign_in_as("owner")
    first = await whole_chat(owner, model, say("ok"))
    session = first[0].data["chat_id"]
    await owner.post(f"/api/v1/ai/sessions/{session}/messages", json={"content": "hi"})
    answer = await owner.post(CHAT, json={"message": "hi"})
    assert (refusal(answer), "retry-after" in answer.headers) == ((429, "RATE_LIMITED"), True)


async def test_a_replayed_message_and_a_second_run_are_refused(server: Server, model: ScriptedModel) -> None:
    """D-17, D-26, T-14: the replay names the run that can be watched."""
    owner = await server.sign_in_as("owner")
    model.add(call("create_work_order", {"title": "A new pump"}), say("ok"))
    async with chat(owner, Idempotency_Key="once") as stream:
        await stream.until("confirmation_required")
        again = await owner.post(CHAT, json={"message": "please"}, headers={"Idempotency-Key": "once"})
        assert refusal(again) == (409, "AI_MESSAGE_DUPLICATE")
        assert again.json()["error"]["details"] == [{"field": "runId", "message": stream.run_id}]
        assert refusal(await owner.post(CHAT, json={"message": "more"})) == (409, "AI_APPROVAL_PENDING")
