"""Stopping a run acts at once, in whichever process it works (D-3, D-26, AUTH-6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.core.settings import Settings
from app.llm.demo.script import say
from app.llm.demo.scripted_model import ScriptedModel
from app.main import create_app
from tests.conftest import Server, serving
from tests.copilot.talk import open_session, say_to


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"agent_lease_ms": 600_000, "ai_disconnect_grace_ms": 600_000}  # no heartbeat comes to help


async def test_a_stop_in_one_process_ends_the_run_of_another_at_once(
    server: Server, settings: Settings, model: ScriptedModel
) -> None:
    """D-3: run and pending call aborted, one last event, the upstream call ended."""
    model.add(say("never heard", before=asyncio.Event()))
    owner = await server.sign_in_as("owner")
    async with serving(create_app(settings)) as second, say_to(owner, await open_session(owner), "hello") as stream:
        await model.received(1)
        address = f"{second}/api/v1/ai/runs/{stream.run_id}/cancel"
        answer = await owner.post(address)
        assert answer.status_code == 200, answer.text
        events = await asyncio.wait_for(stream.to_the_end(), 10)
    assert [(event.name, event.data["code"]) for event in events] == [("error", "ABORTED")]
    await model.disconnected(1)


async def test_logging_out_aborts_the_run_and_voids_the_pending_approval(server: Server) -> None:
    """AUTH-6, D-26: the pending call is aborted with its result; the stream has one last event."""
    owner = await server.sign_in_as("owner")
    await owner.post("/api/v1/work-orders", json={"title": "Pump leaks"})
    async with say_to(owner, await open_session(owner), "raise the pump order to high") as stream:
        await stream.until("tool_approval_required")
        assert (await owner.post("/api/v1/auth/logout")).status_code == 204
        events = await asyncio.wait_for(stream.to_the_end(), 10)
    assert events[-2].data["outcome"] == "aborted"
    assert (events[-1].name, events[-1].data["code"]) == ("error", "ABORTED")
