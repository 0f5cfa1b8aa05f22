"""The console dialect: 001's names over the same runs (T-14)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bson import ObjectId

from app.copilot.console_asking import question as question_about
from app.llm.demo.script import call, http_error, say
from app.llm.demo.scripted_model import ScriptedModel
from app.runs.models import AgentToolCall
from app.tools.gate import CallContext, ProposedCall, decide
from app.tools.policy import Risk, Tier, ToolPolicy
from tests.conftest import Server, ShiftedClock
from tests.copilot.console_talk import CHAT, assert_well_formed, chat, outline, question, said, whole_chat
from tests.copilot.stage import READ, told

LINE_BREAKS = "one\u2028two\u2029three\u0085four\rfive\r\nsix\n\nseven\x0beight\x1cnine\ufeff data: {} \n\n: x"


async def test_a_change_is_told_in_the_consoles_words(server: Server, model: ScriptedModel) -> None:
    """T-14: every event in its place and shape, from the first state to the one end; headers of a stream."""
    async with question(server, model, say("It is high now.")) as asked:
        assert (await asked.confirm()).status_code == 200
        heard = await asked.stream.to_the_end()
        headers = asked.stream.response.headers
    assert_well_formed(heard)
    assert outline(heard) == [
        "status_changed:running", "thinking", "tool_call", "tool_result", "metrics", "thinking",
        "tool_call", "confirmation_required", "status_changed:waiting_for_confirmation",
        "status_changed:running", "tool_result", "metrics", "thinking",
        "message", "metrics", "status_changed:complete", "stream_end",
    ]  # fmt: skip
    assert said(heard) == "It is high now."
    assert heard[-1].data == {"reason": "complete", "had_error": False}
    sessions = (await asked.owner.get("/api/v1/ai/sessions")).json()["data"]
    assert [session["id"] for session in sessions] == [heard[0].data["chat_id"]]
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["x-accel-buffering"] == "no"
    assert headers["x-request-id"]
    run = (await asked.owner.get(f"/api/v1/ai/runs/{headers['x-run-id']}")).json()["data"]["run"]
    metrics = [event.data for event in heard if event.name == "metrics"]
    assert [figures["loop_count"] for figures in metrics] == [1, 2, 3]
    assert [figures["tool_calls"] for figures in metrics] == [1, 2, 2]
    assert metrics[-1]["input_tokens"] == run["inputTokens"] > 0
    assert metrics[-1]["output_tokens"] == run["outputTokens"] > 0
    assert metrics[-1]["tokens_used"] == run["inputTokens"] + run["outputTokens"]
    assert metrics[-1]["uptime_seconds"] >= 0
    assert (await asked.order_now())["priority"] == "high"


@pytest.mark.parametrize(
    ("tool", "args", "shown"),
    [
        ("create_work_order", {"title": "A new pump"}, ("POST", "write", "title", None, "A new pump")),
        ("update_work_order", {"priority": "high"}, ("PATCH", "write", "priority", "low", "high")),
        ("delete_work_order", {}, ("DELETE", "destructive", "deleted", None, True)),
    ],
)
async def test_a_question_names_the_endpoint_the_reason_and_the_change(
    server: Server, model: ScriptedModel, tool: str, args: dict[str, Any], shown: tuple[Any, ...]
) -> None:
    """T-14: as the call that it would be on the desk's own API, with the real id."""
    method, risk, field, before, after = shown
    async with question(server, model, tool=tool, args=args) as asked:
        address = "/work-orders" if method == "POST" else f"/work-orders/{asked.order['id']}"
        assert (asked.asked["method"], asked.asked["endpoint"]) == (method, address)
        assert (asked.asked["tool_name"], asked.asked["risk"], asked.asked["escalated"]) == (tool, risk, False)
        assert "the copilot never changes anything unasked" in asked.asked["reason"]
        assert asked.asked["timestamp"] < asked.asked["expires_at"]
        assert asked.asked["diff"][field] == {"before": before, "after": after}
        started = [event.data for event in asked.stream.heard if event.name == "tool_call"][-1]
        assert (started["id"], started["tool_name"]) == (asked.call_id, tool)
        await asked.confirm(approve=False)
        assert_well_formed(await asked.stream.to_the_end())


async def test_a_rejection_is_a_result_without_success(server: Server, model: ScriptedModel) -> None:
    """T-14, D-6: its reason reaches the model as text, and the run goes on."""
    async with question(server, model, say("Then not.")) as asked:
        assert (await asked.confirm(approve=False, reason="Wrong pump")).status_code == 200
        heard = await asked.stream.to_the_end()
    assert_well_formed(heard)
    result = [event.data for event in heard if event.name == "tool_result"][-1]
    assert (result["success"], "Wrong pump" in result["result"]) == (False, True)
    assert "Wrong pump" in told(model.requests[-1])[-1]
    assert heard[-1].data == {"reason": "complete", "had_error": False}


async def test_calls_that_cannot_run_are_told_too(server: Server, model: ScriptedModel) -> None:
    """T-3, T-14, D-9: an unknown tool and unreadable arguments have a call and a result each."""
    owner = await server.sign_in_as("owner")
    heard = await whole_chat(owner, model, call("drop_everything"), call(READ, '{"limit": NaN}'), say("Sorry."))
    assert_well_formed(heard)
    calls = [event.data for event in heard if event.name == "tool_call"]
    assert [(made["tool_name"], made["arguments"]) for made in calls] == [("drop_everything", {}), (READ, None)]
    results = [event.data for event in heard if event.name == "tool_result"]
    assert [(result["success"], result["result"]["code"]) for result in results] == [
        (False, "UNKNOWN_TOOL"),
        (False, "MALFORMED_ARGUMENTS"),
    ]


async def test_two_calls_of_one_step_are_one_round(server: Server, model: ScriptedModel) -> None:
    """T-14: the model is said to think again only once every call has its result."""
    owner = await server.sign_in_as("owner")
    both = call(READ).calls + call("get_profile").calls
    heard = await whole_chat(owner, model, type(call(READ))(calls=both), say("Done."))
    assert_well_formed(heard)
    assert outline(heard)[2:8] == ["tool_call", "tool_result", "tool_call", "tool_result", "metrics", "thinking"]


async def test_any_text_arrives_as_it_was_sent(server: Server, model: ScriptedModel) -> None:
    """Scenario 2.5, T-14: no line break of any kind splits an event."""
    owner = await server.sign_in_as("owner")
    heard = await whole_chat(owner, model, say(LINE_BREAKS))
    assert_well_formed(heard)
    assert said(heard) == LINE_BREAKS


# -- the end -----------------------------------------------------------------------------------------------------


async def test_a_provider_that_is_down_is_an_error_then_the_end(server: Server, model: ScriptedModel) -> None:
    """T-14, scenario 4.8: the error before the end, and told apart from it; asking again may help."""
    owner = await server.sign_in_as("owner")
    heard = await whole_chat(owner, model, http_error(500))
    assert_well_formed(heard)
    assert outline(heard)[-4:] == ["metrics", "status_changed:error", "error", "stream_end"]
    assert (heard[-2].data["code"], heard[-2].data["recoverable"]) == ("AI_UNAVAILABLE", True)
    assert heard[-1].data == {"reason": "error", "had_error": True}


@pytest.mark.parametrize("overrides", [{"ai_daily_spend_usd": 0.0}])
async def test_a_spent_budget_is_an_error_that_asking_again_does_not_mend(server: Server, model: ScriptedModel) -> None:
    """T-14, D-10."""
    heard = await whole_chat(await server.sign_in_as("owner"), model)
    assert_well_formed(heard)
    assert (heard[-2].data["code"], heard[-2].data["recoverable"]) == ("AI_BUDGET_EXCEEDED", False)
    assert heard[-1].data == {"reason": "budget_exceeded", "had_error": True}


@pytest.mark.parametrize("by", ["its person", "the kill switch", "logout"])
async def test_a_stopped_run_ends_its_stream(server: Server, model: ScriptedModel, by: str) -> None:
    """T-14, D-3, D-18, AUTH-6: what waited gets its result, then error and end."""
    dispatcher = await server.sign_in_as("dispatcher")
    async with question(server, model) as asked:
        if by == "its person":
            await asked.owner.post(f"/api/v1/ai/runs/{asked.stream.run_id}/cancel")
        elif by == "logout":
            await asked.owner.post("/api/v1/auth/logout")
        else:
            await dispatcher.post("/api/v1/admin/agents/disable", json={"scope": "all"})
        heard = await asked.stream.to_the_end()
    assert_well_formed(heard)
    assert outline(heard)[-5:] == ["tool_result", "metrics", "status_changed:aborted", "error", "stream_end"]
    assert (heard[-2].data["code"], heard[-1].data["reason"]) == ("ABORTED", "aborted")


async def test_an_expired_question_ends_its_stream(server: Server, model: ScriptedModel, clock: ShiftedClock) -> None:
    """T-14, scenario 2.8: its own reason everywhere, never a rejection."""
    async with question(server, model) as asked:
        clock.advance(timedelta(minutes=10, seconds=1))
        await server.desk.copilot.sweeper.sweep()
        heard = await asked.stream.to_the_end()
    assert_well_formed(heard)
    assert outline(heard)[-5:] == ["tool_result", "metrics", "status_changed:expired", "error", "stream_end"]
    assert heard[-5].data["result"]["code"] == heard[-2].data["code"] == "AI_APPROVAL_EXPIRED"
    assert heard[-1].data == {"reason": "expired", "had_error": True}


async def test_a_fault_of_ours_ends_the_stream_properly(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """T-14, scenario 4.8: error, then the one end; the fault is logged by its kind, without what was said."""

    def broken(_call: object) -> str:
        raise RuntimeError("zebra in the priority of the order")

    monkeypatch.setattr(server.desk.copilot.approvals, "token", broken)
    owner = await server.sign_in_as("owner")
    model.add(call("create_work_order", {"title": "A zebra pump"}), say("ok"))
    async with chat(owner, "a zebra, please") as stream:
        heard = await stream.to_the_end()
    assert outline(heard) == ["status_changed:running", "thinking", "tool_call", "error", "stream_end"]
    assert (heard[-2].data["code"], heard[-1].data) == ("INTERNAL", {"reason": "error", "had_error": True})
    assert "console_stream_failed" in caplog.text
    assert "RuntimeError" in caplog.text
    assert "zebra" not in caplog.text
    run = (await owner.get(f"/api/v1/ai/runs/{stream.run_id}")).json()["data"]["run"]
    assert run["status"] == "running"  # it still waits for its decision


@pytest.mark.parametrize("overrides", [{"ai_sse_keepalive_ms": 40}])
async def test_an_idle_stream_is_kept_awake_but_not_after_its_end(server: Server, model: ScriptedModel) -> None:
    """T-14, scenario 2.7: pings are comments, which no client sees."""
    owner = await server.sign_in_as("owner")
    model.add(call("create_work_order", {"title": "A new pump"}), say("ok"))
    raw, decided = b"", False
    async with owner.stream("POST", CHAT, json={"message": "make one"}) as answer:
        async for chunk in answer.aiter_raw():
            raw += chunk
            if raw.count(b": ping\n\n") >= 3 and not decided:
                decided = True
                [waiting] = (await owner.get("/api/v1/ai/approvals")).json()["data"]
                await owner.post(f"/api/v1/ai/tool-calls/{waiting['id']}/decide", json={"approve": True})
    assert decided
    last = [block for block in raw.split(b"\n\n") if block][-1]
    assert last.startswith(b"event: stream_end\ndata: ")


# -- questions about other tools ---------------------------------------------------------------------------------

PROMPTED = ToolPolicy("close_month", risk=Risk.FINANCIAL, prompt="Close the month for everybody?")
RESERVING = ToolPolicy("POST /reservations", risk=Risk.WRITE, confirm=Tier.CONFIRM, reason="reserves stock")
RESERVATION = {
    "connection": "inventory", "method": "POST", "path": "/reservations", "body": {"quantity": 10}, "intent": "write",
}  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "policy", "args", "shown"),
    [
        ("request", RESERVING, RESERVATION, ("inventory /reservations", "POST", "reserves stock")),
        ("close_month", PROMPTED, {"month": 11}, ("close_month", "CALL", "Close the month for everybody?")),
    ],
)
def test_a_question_about_another_tool_names_what_would_be_called(
    tool: str, policy: ToolPolicy, args: dict[str, Any], shown: tuple[str, str, str]
) -> None:
    """T-14: a connection and its path, or the tool by its name; why, in its owner's words; never as escalated."""
    now = datetime(2026, 11, 30, 8, tzinfo=UTC)
    decision = decide(ProposedCall(args), policy, CallContext("copilot", "user"))
    kept: AgentToolCall = AgentToolCall.model_construct(
        id=ObjectId(), tool=tool, args=args, after_diff=args, decision=decision.as_record(), created_at=now
    )
    asked = question_about(kept, now + timedelta(minutes=10), "token").data()
    endpoint, method, reason = shown
    assert (asked["endpoint"], asked["method"], asked["escalated"]) == (endpoint, method, False)
    assert reason in asked["reason"]
    assert (asked["timestamp"], asked["expires_at"]) == ("2026-11-30T08:00:00.000Z", "2026-11-30T08:10:00.000Z")
    assert asked["diff"] == {name: {"before": None, "after": value} for name, value in args.items()}
