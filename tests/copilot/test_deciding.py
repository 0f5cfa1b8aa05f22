"""Deciding: the whole order of checks, one winner, one effect (D-6, 003 §4.6, scenarios part 1)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from bson import ObjectId

from app.llm.demo.script import call, http_error, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server, ShiftedClock
from tests.copilot.stage import Proposal, assert_valid_for_the_provider, effects, proposal, stored_call, told
from tests.copilot.talk import decide, say_to, watch

PAST_EXPIRY = timedelta(minutes=10, seconds=1)


def error_code(answer: object) -> str:
    return answer.json()["error"]["code"]  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"approve": "yes"},
        {"approve": 1},
        {"approve": None},
        {"approve": True, "extra": 1},
        {"approve": True, "reason": 7},
    ],
)
async def test_a_body_that_is_not_strict_leaves_it_pending(
    server: Server, model: ScriptedModel, body: dict[str, object]
) -> None:
    """D-6: 400, and the proposal still waits."""
    async with proposal(server, model) as waiting:
        answer = await decide(waiting.owner, waiting.call_id, **body)
        assert (answer.status_code, error_code(answer)) == (400, "VALIDATION_ERROR")
        assert (await stored_call(server, waiting.call_id))["outcome"] == "pending"
        assert (await waiting.decide(approve=False)).status_code == 200


async def test_an_unknown_id_and_a_wrong_token_look_alike(server: Server, model: ScriptedModel) -> None:
    """D-6, T-12, scenario 1.4: 404; what is no id at all is 400, as everywhere (HTTP-2)."""
    async with proposal(server, model) as waiting:
        unknown = await decide(waiting.owner, str(ObjectId()), approve=True)
        malformed = await decide(waiting.owner, "not-an-id", approve=True)
        wrong = await waiting.decide(approve=True, confirmationToken=waiting.asked["confirmationToken"][::-1])
        empty = await waiting.decide(approve=True, confirmationToken="")
        assert [a.status_code for a in (unknown, malformed, wrong, empty)] == [404, 400, 404, 404]
        assert unknown.json()["error"] | {"requestId": 0} == wrong.json()["error"] | {"requestId": 0}
        assert (await stored_call(server, waiting.call_id))["outcome"] == "pending"


async def test_a_read_is_nothing_to_decide(server: Server, model: ScriptedModel) -> None:
    """D-6, scenario 1.4: the id of a call that was never staged is unknown."""
    async with proposal(server, model) as waiting:
        read = waiting.stream.named("tool_call_start")[0].data["toolCallId"]
        assert (await decide(waiting.owner, read, approve=True)).status_code == 404


@pytest.mark.parametrize("who", ["stranger", "dispatcher", "viewer"])
async def test_nobody_but_the_owner_decides(server: Server, model: ScriptedModel, who: str) -> None:
    """D-6, scenario 1.4: 403 for another person, a dispatcher too, with or without the right token."""
    other = await server.sign_in_as(who)
    async with proposal(server, model) as waiting:
        plain = await decide(other, waiting.call_id, approve=True)
        with_token = await decide(
            other, waiting.call_id, approve=True, confirmationToken=waiting.asked["confirmationToken"]
        )
        assert (plain.status_code, with_token.status_code) == (403, 403)
        wrong = await decide(other, waiting.call_id, approve=True, confirmationToken="x" * 43)
        assert wrong.status_code == 404  # the token is looked at first
        assert await effects(server, waiting.order["id"]) == []


@pytest.mark.parametrize("approve", [True, False])
async def test_the_same_decision_again_is_200_and_the_opposite_409(
    server: Server, model: ScriptedModel, approve: bool
) -> None:
    """D-6, scenario 1.5: also after the effect, and after the end of the run."""
    async with proposal(server, model) as waiting:
        first = await waiting.decide(approve=approve)
        again = await waiting.decide(approve=approve)
        opposite = await waiting.decide(approve=not approve)
        assert (first.status_code, again.status_code) == (200, 200)
        assert (opposite.status_code, error_code(opposite)) == (409, "AI_APPROVAL_RESOLVED")
        await waiting.stream.to_the_end()
        late = await waiting.decide(approve=approve)
        assert late.status_code == 200
        assert late.json()["data"]["outcome"] == ("executed" if approve else "rejected")
        opposite = await waiting.decide(approve=not approve)
        assert (opposite.status_code, error_code(opposite)) == (409, "AI_APPROVAL_RESOLVED")
        assert await effects(server, waiting.order["id"]) == ([waiting.call_id] if approve else [])


@pytest.mark.parametrize("swept", [False, True])
async def test_after_expiry_it_is_410_and_expired_everywhere(
    server: Server, model: ScriptedModel, clock: ShiftedClock, swept: bool
) -> None:
    """D-6, 003 §4.5, §4.6, scenario 2.8: by the server's clock, at the decision or by the sweeper."""
    async with proposal(server, model) as waiting:
        clock.advance(PAST_EXPIRY)
        if swept:
            await server.desk.copilot.sweeper.sweep()
        late = await waiting.decide(approve=True)
        assert (late.status_code, error_code(late)) == (410, "AI_APPROVAL_EXPIRED")
        heard = await waiting.stream.to_the_end()
        assert [event.name for event in heard[-3:]] == ["tool_approval_expired", "tool_result", "error"]
        assert heard[-2].data["outcome"] == "expired"
        assert heard[-1].data["code"] == "AI_APPROVAL_EXPIRED"
        run = (await waiting.owner.get(f"/api/v1/ai/runs/{waiting.run_id}")).json()["data"]
        assert (run["run"]["status"], run["run"]["errorCode"]) == ("expired", "AI_APPROVAL_EXPIRED")
        assert (run["toolCalls"][-1]["outcome"], run["toolCalls"][-1]["approval"]["status"]) == ("expired", "expired")
        again = await waiting.decide(approve=False)
        assert (again.status_code, error_code(again)) == (410, "AI_APPROVAL_EXPIRED")
        assert (await waiting.owner.get("/api/v1/ai/approvals")).json()["data"] == []
        assert await effects(server, waiting.order["id"]) == []
        await _next_turn_is_told(waiting, model, "did not decide in time")


async def _next_turn_is_told(waiting: Proposal, model: ScriptedModel, words: str) -> None:
    """Scenario 2.2: the conversation goes on, valid, and the model knows what became of its call."""
    before = len(model.requests)
    model.clear()
    model.add(say("Hello again."))
    async with say_to(waiting.owner, waiting.session, "go on") as stream:
        assert (await stream.to_the_end())[-1].name == "message_done"
    body = model.requests[before]
    assert_valid_for_the_provider(body)
    assert any(words in text for text in told(body))


async def test_an_approval_of_a_changed_order_is_stale_and_asked_anew(server: Server, model: ScriptedModel) -> None:
    """D-6, D-7, scenario 2.3: 409, the old call ends stale, the new one supersedes it; the model sees the last only."""
    async with proposal(server, model) as waiting:
        changed = await waiting.owner.patch(
            f"/api/v1/work-orders/{waiting.order['id']}", json={"version": 1, "title": "Pump leaks badly"}
        )
        assert changed.status_code == 200, changed.text
        answer = await waiting.decide(approve=True)
        assert (answer.status_code, error_code(answer)) == (409, "AI_APPROVAL_STALE")
        assert (await waiting.order_now())["priority"] == "low"

        ended = await waiting.stream.until("tool_result")
        assert (ended.data["toolCallId"], ended.data["outcome"]) == (waiting.call_id, "stale")
        start = await waiting.stream.until("tool_call_start")
        fresh = (await waiting.stream.until("tool_approval_required")).data
        assert start.data["toolCallId"] == fresh["toolCallId"] != waiting.call_id
        assert (fresh["stagedVersion"], fresh["preImage"]["title"]) == (2, "Pump leaks badly")
        assert fresh["argsHash"] == waiting.asked["argsHash"]
        assert fresh["confirmationToken"] != waiting.asked["confirmationToken"]
        again = await waiting.decide(approve=True)
        assert (again.status_code, error_code(again)) == (409, "AI_APPROVAL_STALE")

        assert (await decide(waiting.owner, fresh["toolCallId"], approve=True)).json()["data"][
            "supersedes"
        ] == waiting.call_id
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert await effects(server, waiting.order["id"]) == [fresh["toolCallId"]]
        assert (await waiting.order_now())["version"] == 3
        body = model.requests[-1]
        assert_valid_for_the_provider(body)
        assert len(told(body)) == 2
        assert '"version": 3' in told(body)[1]


async def test_a_rejection_of_a_changed_order_is_a_rejection(server: Server, model: ScriptedModel) -> None:
    """D-6: only an approval can be stale."""
    async with proposal(server, model) as waiting:
        await waiting.owner.patch(f"/api/v1/work-orders/{waiting.order['id']}", json={"version": 1, "title": "Other"})
        answer = await waiting.decide(approve=False)
        assert (answer.status_code, answer.json()["data"]["outcome"]) == (200, "rejected")
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"


async def test_a_stopped_run_decides_nothing(server: Server, model: ScriptedModel) -> None:
    """D-6, D-26, 003 §4.5: cancel voids what is pending; the decision is 409."""
    async with proposal(server, model) as waiting:
        stopped = await waiting.owner.post(f"/api/v1/ai/runs/{waiting.run_id}/cancel")
        assert stopped.json()["data"]["status"] == "aborted"
        heard = await waiting.stream.to_the_end()
        assert [(e.name, e.data.get("outcome"), e.data.get("code")) for e in heard[-2:]] == [
            ("tool_result", "aborted", None),
            ("error", None, "ABORTED"),
        ]
        answer = await waiting.decide(approve=True)
        assert (answer.status_code, error_code(answer)) == (409, "AI_APPROVAL_RESOLVED")
        assert await effects(server, waiting.order["id"]) == []
        await _next_turn_is_told(waiting, model, "stopped before the person decided")


async def test_the_reason_of_a_rejection_reaches_the_model(server: Server, model: ScriptedModel) -> None:
    """D-6, scenario 1.6: as text, normalised; the run goes on and nothing was run."""
    async with proposal(server, model) as waiting:
        answer = await waiting.decide(approve=False, reason="  Wrong pump; ask Tom \u202e ")
        assert answer.json()["data"]["approval"]["reason"] == "Wrong pump; ask Tom \u202e"
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert "Wrong pump; ask Tom" in told(model.requests[-1])[-1]
        assert '"rejected"' in told(model.requests[-1])[-1]
        assert (await waiting.order_now())["version"] == 1


async def test_an_approved_call_never_runs_again(server: Server, model: ScriptedModel) -> None:
    """Scenario 1.1: two more turns, one effect, one execution on record."""
    async with proposal(server, model) as waiting:
        await waiting.decide(approve=True)
        await waiting.stream.to_the_end()
        for words in ("thanks", "and now?"):
            model.add(say("You are welcome."))
            async with say_to(waiting.owner, waiting.session, words) as stream:
                await stream.to_the_end()
                assert stream.named("tool_result") == []
        await server.desk.copilot.sweeper.sweep()
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]
        assert (await stored_call(server, waiting.call_id))["attempt"] == 1


async def test_a_provider_that_fails_after_the_effect_loses_only_the_reply(
    server: Server, model: ScriptedModel
) -> None:
    """Scenario 1.2, COP-9: shown as done; the run is marked failed; the next turn knows of the effect."""
    async with proposal(server, model, http_error(500)) as waiting:
        await waiting.decide(approve=True)
        heard = await waiting.stream.to_the_end()
        assert heard[-1].data["code"] == "AI_UNAVAILABLE"
        assert [e.data["outcome"] for e in waiting.stream.named("tool_result")] == ["executed", "executed"]
        assert (await waiting.order_now())["priority"] == "high"
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]
        await _next_turn_is_told(waiting, model, '"priority": "high"')


async def test_a_rejected_proposal_made_again_and_again_ends_the_run(server: Server, model: ScriptedModel) -> None:
    """Scenario 1.6, 003 §4.4 convergence guard: the same write rejected twice ends as LOOP_DETECTED."""
    async with proposal(
        server, model, lambda _: call("update_work_order", {"priority": "high", "id": again["id"]})
    ) as waiting:
        again = waiting.order
        await waiting.decide(approve=False, reason="no")
        second = (await waiting.stream.until("tool_approval_required")).data
        await decide(waiting.owner, second["toolCallId"], approve=False)
        heard = await waiting.stream.to_the_end()
        assert heard[-1].data["code"] == "LOOP_DETECTED"
        run = (await waiting.owner.get(f"/api/v1/ai/runs/{waiting.run_id}")).json()["data"]["run"]
        assert (run["status"], run["errorCode"]) == ("error", "LOOP_DETECTED")
        assert await effects(server, waiting.order["id"]) == []


async def test_two_approvals_at_once_are_one_effect_and_one_answer(server: Server, model: ScriptedModel) -> None:
    """Scenario 1.7: a double click."""
    async with proposal(server, model) as waiting:
        answers = await asyncio.gather(*(waiting.decide(approve=True) for _ in range(5)))
        assert [answer.status_code for answer in answers] == [200] * 5
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]


async def test_approve_and_reject_at_once_have_one_winner(server: Server, model: ScriptedModel) -> None:
    """Scenario 1.7: the loser is told who won."""
    async with proposal(server, model) as waiting:
        approved, rejected = await asyncio.gather(waiting.decide(approve=True), waiting.decide(approve=False))
        assert sorted([approved.status_code, rejected.status_code]) == [200, 409]
        won = approved.status_code == 200
        loser = rejected if won else approved
        assert error_code(loser) == "AI_APPROVAL_RESOLVED"
        assert ("approved" if won else "rejected") in loser.json()["error"]["message"]
        await waiting.stream.to_the_end()
        assert await effects(server, waiting.order["id"]) == ([waiting.call_id] if won else [])


async def test_one_approved_and_one_rejected_in_a_turn_are_one_effect(server: Server, model: ScriptedModel) -> None:
    """Scenario 1.5."""
    async with proposal(
        server, model, lambda _: call("update_work_order", {"id": target["id"], "status": "done"}), say("Well.")
    ) as waiting:
        target = waiting.order
        await waiting.decide(approve=False)
        second = (await waiting.stream.until("tool_approval_required")).data
        await decide(waiting.owner, second["toolCallId"], approve=True)
        await waiting.stream.to_the_end()
        assert await effects(server, waiting.order["id"]) == [second["toolCallId"]]
        after = await waiting.order_now()
        assert (after["priority"], after["status"]) == ("low", "done")


async def test_a_decision_before_the_run_has_parked_is_carried_out(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-6, D-1: the person is faster than the run's own last write."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    runs = server.desk.runs
    park = runs.park

    async def late(run: object, call_id: ObjectId) -> object:
        reached.set()
        await go_on.wait()
        return await park(run, call_id)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "park", late)
    async with proposal(server, model) as waiting:
        await asyncio.wait_for(reached.wait(), 5)
        assert (await waiting.decide(approve=True)).status_code == 200
        go_on.set()
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]


async def test_an_expiry_before_the_run_has_parked_expires_the_run(
    server: Server, model: ScriptedModel, clock: ShiftedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """003 §4.5, scenario 2.8: it is not taken for an answer."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    runs = server.desk.runs
    park = runs.park

    async def late(run: object, call_id: ObjectId) -> object:
        reached.set()
        await go_on.wait()
        return await park(run, call_id)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "park", late)
    async with proposal(server, model) as waiting:
        await asyncio.wait_for(reached.wait(), 5)
        clock.advance(PAST_EXPIRY)
        assert (await waiting.decide(approve=True)).status_code == 410
        go_on.set()
        heard = await waiting.stream.to_the_end()
        assert heard[-1].data.get("code") == "AI_APPROVAL_EXPIRED"
        assert (await server.desk.runs.get(ObjectId(waiting.run_id))).status == "expired"


async def test_more_time_can_be_had_ten_times(server: Server, model: ScriptedModel, clock: ShiftedClock) -> None:
    """D-30, WCAG 2.2.1: one TTL more each time, the event again, for its owner only, and not after the end."""
    stranger = await server.sign_in_as("stranger")
    async with proposal(server, model) as waiting:
        path = f"/api/v1/ai/tool-calls/{waiting.call_id}/extend"
        assert (await stranger.post(path)).status_code == 403
        first = await waiting.owner.post(path)
        assert first.status_code == 200, first.text
        again = (await waiting.stream.until("tool_approval_required")).data
        assert again["toolCallId"] == waiting.call_id
        assert again["expiresAt"] > waiting.asked["expiresAt"]
        assert {**again, "expiresAt": 0} == {**waiting.asked, "expiresAt": 0}
        clock.advance(PAST_EXPIRY)
        for _ in range(9):
            assert (await waiting.owner.post(path)).status_code == 200
        assert (await waiting.owner.post(path)).status_code == 409
        assert (await waiting.decide(approve=True)).status_code == 200
        assert (await waiting.owner.post(path)).status_code == 409
        await waiting.stream.to_the_end()


async def test_what_is_over_is_not_extended(server: Server, model: ScriptedModel, clock: ShiftedClock) -> None:
    """D-30, D-6: 410."""
    async with proposal(server, model) as waiting:
        clock.advance(PAST_EXPIRY)
        answer = await waiting.owner.post(f"/api/v1/ai/tool-calls/{waiting.call_id}/extend")
        assert (answer.status_code, error_code(answer)) == (410, "AI_APPROVAL_EXPIRED")
        await waiting.stream.to_the_end()


async def test_a_pending_approval_is_found_again_from_anywhere(server: Server, model: ScriptedModel) -> None:
    """Scenario 2.1: the list, the run, a new stream from the start, all from the record."""
    async with proposal(server, model) as waiting:
        listed = (await waiting.owner.get("/api/v1/ai/approvals")).json()["data"]
        assert [item["id"] for item in listed] == [waiting.call_id]
        assert listed[0]["outcome"] == "pending"
        detail = (await waiting.owner.get(f"/api/v1/ai/runs/{waiting.run_id}")).json()["data"]
        assert detail["toolCalls"][-1]["id"] == waiting.call_id
        async with watch(waiting.owner, waiting.run_id) as again:
            assert (await again.until("tool_approval_required")).data == waiting.asked
