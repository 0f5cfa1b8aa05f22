"""A web process is killed with -9 and started again: what was asked and decided survives (issue 2, D-1, D-5)."""

from __future__ import annotations

from pathlib import Path

from app.core.settings import Settings
from app.desk import Desk
from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.chaos.processes import sign_in, web_process
from tests.copilot.talk import decide, make_order, open_session, say_to, watch


async def test_an_approval_survives_a_killed_process_and_is_done_once(
    desk: Desk, settings: Settings, model: ScriptedModel, tmp_path: Path
) -> None:
    """D-1, D-5, scenario 2.1: kill -9 while pending, start again, approve: one effect, the run completes."""
    async with web_process(settings, tmp_path) as first:
        owner = await sign_in(desk, first.url, "owner")
        order = await make_order(owner, priority="low")
        model.add(
            call("list_my_work_orders"),
            call("update_work_order", {"id": order["id"], "priority": "high"}),
            say("It is high now."),
        )
        session = await open_session(owner)
        async with say_to(owner, session, "raise it") as stream:
            asked = (await stream.until("tool_approval_required")).data
            run_id = stream.run_id
            await first.kill()
        await owner.aclose()

    async with web_process(settings, tmp_path) as second:
        owner = await sign_in(desk, second.url, "owner")
        waiting = (await owner.get("/api/v1/ai/approvals")).json()["data"]
        assert [item["id"] for item in waiting] == [asked["toolCallId"]]
        async with watch(owner, run_id) as stream:
            again = (await stream.until("tool_approval_required")).data
            assert again == asked
            answer = await decide(
                owner, asked["toolCallId"], approve=True, confirmationToken=again["confirmationToken"]
            )
            assert answer.status_code == 200, answer.text
            heard = await stream.to_the_end()
        await owner.aclose()

    assert heard[-1].name == "message_done"
    assert stream.text == "It is high now."
    assert [event.data["outcome"] for event in stream.named("tool_result")] == ["executed", "executed"]
    kept = await desk.database["workorders"].find_one({"title": order["title"]})
    assert kept is not None
    assert (kept["priority"], kept["version"]) == ("high", 2)
    assert sum(1 for mark in kept["history"] if mark.get("toolCallId") == asked["toolCallId"]) == 1
