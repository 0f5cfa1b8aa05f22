"""The copilot's story over JSON, with an ordinary HTTP client and the demo model (003 §4.6, §4.8)."""

from __future__ import annotations

from tests.conftest import Server
from tests.copilot.talk import decide, make_order, open_session, say_to


async def test_a_change_is_drafted_shown_approved_and_done_once(server: Server) -> None:
    """COP-2, COP-3, D-5, D-6, D-8, D-23: session, message, approval, decision, result, closing message."""
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, priority="low")
    session = await open_session(owner)

    async with say_to(owner, session, "raise the priority of the pump order to high") as stream:
        asked = (await stream.until("tool_approval_required")).data
        assert asked["tool"] == "update_work_order"
        assert asked["args"] == {"id": order["id"], "priority": "high"}
        assert asked["preImage"]["priority"] == "low"
        assert asked["afterDiff"] == {"priority": "high"}
        assert asked["stagedVersion"] == 1
        assert asked["summary"] == "Priority low → high"
        assert asked["confirmationToken"]
        before = (await owner.get(f"/api/v1/work-orders/{order['id']}")).json()["data"]
        assert before["priority"] == "low"

        answer = await decide(owner, asked["toolCallId"], approve=True, confirmationToken=asked["confirmationToken"])
        assert answer.status_code == 200, answer.text
        assert answer.json()["data"]["approval"]["status"] == "approved"

        result = (await stream.until("tool_result")).data
        assert result["outcome"] == "executed"
        assert result["result"]["version"] == 2
        events = await stream.to_the_end()

    assert events[-1].name == "message_done"
    assert [event.name for event in events].count("message_done") == 1
    after = (await owner.get(f"/api/v1/work-orders/{order['id']}")).json()["data"]
    assert (after["priority"], after["version"]) == ("high", 2)
    starts = {event.data["toolCallId"] for event in stream.named("tool_call_start")}
    results = [event.data["toolCallId"] for event in stream.named("tool_result")]
    assert sorted(starts) == sorted(results)
