"""A person who is gone for good stops their run; a dropped connection does not (D-3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from bson import ObjectId

from app.llm.demo.script import say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.talk import decide, make_order, open_session, say_to, watch
from tests.worker.processes import until


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_disconnect_grace_ms": 100, "agent_lease_ms": 60_000}


async def _status(server: Server, run_id: str) -> str:
    return (await server.desk.runs.get(ObjectId(run_id))).status


async def test_a_run_whose_last_watcher_is_gone_is_aborted_after_the_grace(
    server: Server, model: ScriptedModel
) -> None:
    """D-3, 003 §4.5: the upstream call ends too."""
    held = asyncio.Event()
    model.add(say("never heard", before=held))
    owner = await server.sign_in_as("owner")
    async with say_to(owner, await open_session(owner), "hello") as stream:
        await model.received(1)
        run_id = stream.run_id

    async def aborted() -> bool:
        return await _status(server, run_id) == "aborted"

    await until(aborted)
    held.set()
    async with watch(owner, run_id) as late:
        assert [event.data.get("code") for event in await late.to_the_end()] == ["ABORTED"]


async def test_another_watcher_keeps_the_run_alive(server: Server, model: ScriptedModel) -> None:
    """D-3, scenario 2.7: a reload opens a second stream before or after the first one drops."""
    held = asyncio.Event()
    model.add(say("heard by the second", before=held))
    owner = await server.sign_in_as("owner")
    async with say_to(owner, await open_session(owner), "hello") as first:
        await model.received(1)
        run_id = first.run_id
        second = watch(owner, run_id)
        listener = await second.__aenter__()
    await asyncio.sleep(1.2)  # longer than heartbeat and grace: it is the absence of a stop that is shown
    held.set()
    await listener.to_the_end()
    assert listener.text == "heard by the second"
    await second.__aexit__(None, None, None)


async def test_a_pending_approval_needs_no_watcher_and_the_woken_run_goes_to_its_end(
    server: Server, model: ScriptedModel
) -> None:
    """D-3: deciding from a page without a stream completes the run."""
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, priority="low")
    async with say_to(owner, await open_session(owner), "raise the pump order to high") as stream:
        asked = (await stream.until("tool_approval_required")).data
        run_id = stream.run_id
    assert (await decide(owner, asked["toolCallId"], approve=True)).status_code == 200

    async def complete() -> bool:
        return await _status(server, run_id) == "complete"

    await until(complete)
    after = (await owner.get(f"/api/v1/work-orders/{order['id']}")).json()["data"]
    assert after["priority"] == "high"
