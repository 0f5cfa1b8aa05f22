"""The kill switch over everything: the copilot stops with triage (D-18)."""

from __future__ import annotations

import asyncio

from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.talk import open_session, say_to


async def test_a_running_turn_ends_and_new_ones_are_refused_until_it_is_on_again(
    server: Server, model: ScriptedModel
) -> None:
    """D-18: aborted between steps, 503 with the reason, and everything again afterwards."""
    owner, dispatcher = await server.sign_in_as("owner"), await server.sign_in_as("dispatcher")
    session = await open_session(owner)
    never = asyncio.Event()
    model.add(say("Hello", before=never))
    async with say_to(owner, session, "Hello") as turn:
        await model.received(1)
        off = await dispatcher.post("/api/v1/admin/agents/disable", json={"scope": "all"})
        assert off.json()["data"] == {"enabled": False, "copilotEnabled": False}
        await turn.to_the_end()
    assert [event.data["code"] for event in turn.named("error")] == ["ABORTED"]
    refused = await owner.post(f"/api/v1/ai/sessions/{session}/messages", json={"content": "Hello?"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "AI_UNAVAILABLE")
    assert "switched off by a dispatcher" in refused.json()["error"]["message"]
    await dispatcher.post("/api/v1/admin/agents/enable", json={"scope": "all"})
    async with say_to(owner, session, "Hello again") as turn:
        await turn.to_the_end()
    assert turn.named("message_done")


async def test_a_pending_approval_is_void_and_nothing_is_written(server: Server, model: ScriptedModel) -> None:
    """D-18: pending approvals void."""
    owner, dispatcher = await server.sign_in_as("owner"), await server.sign_in_as("dispatcher")
    session = await open_session(owner)
    model.add(call("create_work_order", {"title": "New pump"}))
    async with say_to(owner, session, "Create an order") as turn:
        asked = await turn.until("tool_approval_required")
        await dispatcher.post("/api/v1/admin/agents/disable", json={"scope": "all"})
        await turn.to_the_end()
    decided = await owner.post(f"/api/v1/ai/tool-calls/{asked.data['toolCallId']}/decide", json={"approve": True})
    assert decided.status_code == 409
    assert await server.desk.orders.count() == 0
