"""What happens between the proposal and its effect: moved, deleted, tampered with, its person gone (D-5, D-7, D-8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from bson import ObjectId

from app.core.canonical import sha256_hex
from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import Proposal, assert_valid_for_the_provider, effects, proposal, stored_call, told
from tests.copilot.talk import decide, make_order, open_session, say_to

WRITES = ("update_work_order", "delete_work_order")


def before_the_effect(server: Server, monkeypatch: pytest.MonkeyPatch, work: Callable[[], Awaitable[Any]]) -> None:
    """Does `work` once, after a decision was answered and before its effect."""
    runs = server.desk.runs
    lease, left = runs.lease_execution, [work]

    async def interposed(call_id: ObjectId, by: str) -> Any:
        if left:
            await left.pop()()
        return await lease(call_id, by)

    monkeypatch.setattr(runs, "lease_execution", interposed)


async def _edit(waiting: Proposal) -> None:
    answer = await waiting.owner.patch(
        f"/api/v1/work-orders/{waiting.order['id']}", json={"version": 1, "title": "Edited meanwhile"}
    )
    assert answer.status_code == 200, answer.text


async def _remove(waiting: Proposal) -> None:
    answer = await waiting.owner.request("DELETE", f"/api/v1/work-orders/{waiting.order['id']}", json={"version": 1})
    assert answer.status_code == 204, answer.text


@pytest.mark.parametrize("tool", WRITES)
async def test_an_order_edited_between_decision_and_effect_is_asked_about_anew(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """D-7, scenario 2.3: found only at execution; nothing runs, the new proposal does once approved."""
    async with proposal(server, model, tool=tool) as waiting:
        before_the_effect(server, monkeypatch, lambda: _edit(waiting))
        assert (await waiting.decide(approve=True)).status_code == 200
        assert (await waiting.stream.until("tool_result")).data["outcome"] == "stale"
        fresh = (await waiting.stream.until("tool_approval_required")).data
        assert fresh["preImage"]["title"] == "Edited meanwhile"
        assert await effects(server, waiting.order["id"]) == []
        old, new = await stored_call(server, waiting.call_id), await stored_call(server, fresh["toolCallId"])
        assert (old["outcome"], old["supersededBy"], new["supersedes"]) == ("stale", new["_id"], old["_id"])
        assert (await decide(waiting.owner, fresh["toolCallId"], approve=True)).status_code == 200
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert await effects(server, waiting.order["id"]) == [fresh["toolCallId"]]
        assert_valid_for_the_provider(model.requests[-1])


@pytest.mark.parametrize("tool", WRITES)
@pytest.mark.parametrize("when", ["before the decision", "after the decision"])
async def test_an_order_deleted_meanwhile_ends_the_call_with_a_plain_message(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tool: str, when: str
) -> None:
    """D-7, scenario 2.3: outcome error, the run goes on, no error page."""
    async with proposal(server, model, tool=tool) as waiting:
        if when == "before the decision":
            await _remove(waiting)
            answer = await waiting.decide(approve=True)
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "AI_APPROVAL_STALE")
        else:
            before_the_effect(server, monkeypatch, lambda: _remove(waiting))
            assert (await waiting.decide(approve=True)).status_code == 200
        result = (await waiting.stream.until("tool_result")).data
        assert (result["outcome"], "no longer there" in result["result"]["message"]) == ("error", True)
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert "no longer there" in told(model.requests[-1])[-1]
        assert await effects(server, waiting.order["id"]) == []
        shown = (await waiting.owner.get(f"/api/v1/ai/runs/{waiting.run_id}")).json()["data"]["toolCalls"][-1]
        assert shown["approval"]["status"] != "pending"
        page = await waiting.owner.get(f"/app/approvals/{waiting.call_id}")
        assert page.status_code == 200


@pytest.mark.parametrize("tool", ["create_work_order", *WRITES])
@pytest.mark.parametrize("change", [{"isActive": False}, {"role": "viewer"}])
async def test_a_person_who_may_no_longer_write_changes_nothing(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tool: str, change: dict[str, Any]
) -> None:
    """Scenario 2.3, T-12, AUTH-5: deactivated or demoted after the decision; policy is asked again."""
    async with proposal(server, model, tool=tool) as waiting:
        person = await server.person("owner")
        users = server.desk.database["users"]
        before_the_effect(server, monkeypatch, lambda: users.update_one({"_id": person.id}, {"$set": change}))
        assert (await waiting.decide(approve=True)).status_code == 200
        result = (await waiting.stream.until("tool_result")).data
        assert (result["outcome"], "Nothing was changed" in result["result"]["message"]) == ("error", True)
        await waiting.stream.to_the_end()
        assert await server.desk.database["workorders"].count_documents({}) == 1
        assert await effects(server, waiting.order["id"]) == []


@pytest.mark.parametrize(
    ("path", "body"), [("status", {"isActive": False}), ("role", {"role": "viewer"})], ids=["deactivated", "demoted"]
)
async def test_a_dispatcher_who_takes_the_right_away_voids_what_waits(
    server: Server, model: ScriptedModel, path: str, body: dict[str, Any]
) -> None:
    """AUTH-9, AUTH-6, scenario 2.3: run and pending call are aborted."""
    dispatcher = await server.sign_in_as("dispatcher")
    async with proposal(server, model) as waiting:
        person = await server.person("owner")
        answer = await dispatcher.patch(f"/api/v1/admin/users/{person.id}/{path}", json=body)
        assert answer.status_code == 200, answer.text
        heard = await waiting.stream.to_the_end()
        assert (heard[-2].data["outcome"], heard[-1].data["code"]) == ("aborted", "ABORTED")
        assert (await waiting.decide(approve=True)).status_code == 401
        assert await effects(server, waiting.order["id"]) == []


async def test_signing_out_voids_what_waits(server: Server, model: ScriptedModel) -> None:
    """AUTH-6, 003 §4.5: the run is aborted, the pending approval void."""
    async with proposal(server, model) as waiting:
        assert (await waiting.owner.post("/api/v1/auth/logout")).status_code in (200, 204)
        heard = await waiting.stream.to_the_end()
        assert (heard[-2].data["outcome"], heard[-1].data["code"]) == ("aborted", "ABORTED")
        assert (await stored_call(server, waiting.call_id))["outcome"] == "aborted"


async def test_what_is_approved_is_finished_though_the_run_is_stopped(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-5, AUTH-6: a stop between decision and effect voids nothing; the effect happens once, then the run stops."""
    async with proposal(server, model) as waiting:

        async def stop() -> None:
            answer = await waiting.owner.post(f"/api/v1/ai/runs/{waiting.run_id}/cancel")
            assert answer.status_code == 200

        before_the_effect(server, monkeypatch, stop)
        assert (await waiting.decide(approve=True)).status_code == 200
        heard = await waiting.stream.to_the_end()
        assert [(e.name, e.data.get("outcome") or e.data.get("code")) for e in heard[-2:]] == [
            ("tool_result", "executed"),
            ("error", "ABORTED"),
        ]
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]


@pytest.mark.parametrize("field", ["args", "argsHash"])
async def test_arguments_that_are_not_those_shown_never_run(server: Server, model: ScriptedModel, field: str) -> None:
    """D-8, scenarios 1.3 and 1.4: changed in the database behind everybody's back, nothing runs."""
    async with proposal(server, model) as waiting:
        forged = {"args.priority": "medium"} if field == "args" else {"argsHash": "0" * 64}
        await server.desk.database["agenttoolcalls"].update_one({"_id": ObjectId(waiting.call_id)}, {"$set": forged})
        answer = await decide(waiting.owner, waiting.call_id, approve=True)
        assert answer.status_code == 200
        result = (await waiting.stream.until("tool_result")).data
        assert (result["outcome"], "not those that were shown" in result["result"]["message"]) == ("error", True)
        await waiting.stream.to_the_end()
        assert (await waiting.order_now())["version"] == 1


@pytest.mark.parametrize("tool", ["create_work_order", *WRITES])
async def test_the_shown_hash_is_the_executed_hash(server: Server, model: ScriptedModel, tool: str) -> None:
    """D-8: SHA-256 of the canonical JSON of the frozen arguments, in event, modal and record."""
    async with proposal(server, model, tool=tool) as waiting:
        assert waiting.asked["argsHash"] == sha256_hex(waiting.asked["args"])
        page = (await waiting.owner.get(f"/app/approvals/{waiting.call_id}")).text
        assert waiting.asked["argsHash"] in page.replace(" ", "")
        await waiting.decide(approve=True)
        await waiting.stream.to_the_end()
        done = (await waiting.owner.get(f"/api/v1/ai/runs/{waiting.run_id}")).json()["data"]["toolCalls"][-1]
        assert done["argsHash"] == done["executedHash"] == waiting.asked["argsHash"]
        assert done["executedVersion"] == (1 if tool == "create_work_order" else 2)


async def test_values_are_normalised_before_they_are_shown(server: Server, model: ScriptedModel) -> None:
    """D-8, scenario 1.3: NFC and trimmed in the event, the same in the order; defaults of a creation are shown too."""
    decomposed = "  Cafe\u0301 pump "
    async with proposal(server, model, tool="create_work_order", args={"title": decomposed}) as waiting:
        assert waiting.asked["args"] == {"title": "Caf\u00e9 pump", "priority": "medium", "status": "pending"}
        assert waiting.asked["preImage"] is None
        assert waiting.asked["stagedVersion"] is None
        assert waiting.asked["afterDiff"] == waiting.asked["args"]
        await waiting.decide(approve=True)
        result = (await waiting.stream.until("tool_result")).data["result"]
        assert (result["title"], result["version"]) == ("Caf\u00e9 pump", 1)
        await waiting.stream.to_the_end()


async def test_what_cannot_be_seen_is_shown_in_the_modal(server: Server, model: ScriptedModel) -> None:
    """D-8: control, bidi and zero-width characters stand as code points, in every line of the modal and the card."""
    hidden = "Pump\u202egpj\u200b.exe\u0007\u2066x\u2069\ufeff"
    async with proposal(server, model, args={"title": hidden, "description": f"See {hidden}"}) as waiting:
        pages = [
            (await waiting.owner.get(f"/app/approvals/{waiting.call_id}", headers={"HX-Request": "true"})).text,
            (await waiting.owner.get(f"/app/approvals/{waiting.call_id}")).text,
            (await waiting.owner.get("/app/approvals")).text,
            (await waiting.owner.get("/app/copilot")).text,
        ]
        for page in pages:
            assert not {char for char in page if char in "\u202e\u200b\u0007\u2066\u2069\ufeff"}
        assert "U+202E" in pages[0]
        assert "U+200B" in pages[0]
        await waiting.decide(approve=False)
        await waiting.stream.to_the_end()
    shown = (await waiting.owner.get(f"/app/runs/{waiting.run_id}")).text
    assert not {char for char in shown if char in "\u202e\u200b\u0007\u2066\u2069\ufeff"}


async def test_a_creation_of_a_hidden_title_shows_it_everywhere(server: Server, model: ScriptedModel) -> None:
    """D-8: the title is also the subject and the summary of a creation."""
    async with proposal(server, model, tool="create_work_order", args={"title": "A\u202eB"}) as waiting:
        for path in (f"/app/approvals/{waiting.call_id}", "/app/approvals", "/app/copilot"):
            assert "\u202e" not in (await waiting.owner.get(path)).text
        assert "\u202e" not in waiting.asked["summary"]
        await waiting.decide(approve=False)
        await waiting.stream.to_the_end()


# -- undo ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["owner", "dispatcher"])
async def test_an_executed_change_is_undone_by_its_owner_or_a_dispatcher(
    server: Server, model: ScriptedModel, who: str
) -> None:
    """D-30, issue 4.9: version-checked, itself in the history; a second undo does nothing more."""
    other = await server.sign_in_as(who)
    async with proposal(server, model) as waiting:
        path = f"/api/v1/ai/tool-calls/{waiting.call_id}/undo"
        assert (await other.post(path)).status_code == 409  # nothing happened yet
        await waiting.decide(approve=True)
        await waiting.stream.to_the_end()
        undone = await other.post(path)
        assert undone.status_code == 200, undone.text
        after = await waiting.order_now()
        assert (after["priority"], after["version"]) == ("low", 3)
        assert await effects(server, waiting.order["id"]) == [waiting.call_id, f"{waiting.call_id}:undo"]
        again = await other.post(path)  # a retry, or the other tab
        assert again.status_code == 200
        assert (await waiting.order_now())["version"] == 3


@pytest.mark.parametrize("tool", ["create_work_order", "delete_work_order"])
async def test_creations_and_deletions_are_undone_too(server: Server, model: ScriptedModel, tool: str) -> None:
    """D-30: an undone creation is deleted, an undone deletion is there again."""
    async with proposal(server, model, tool=tool) as waiting:
        await waiting.decide(approve=True)
        result = (await waiting.stream.until("tool_result")).data["result"]
        await waiting.stream.to_the_end()
        target = result["id"]
        gone = tool == "delete_work_order"
        assert (await waiting.owner.get(f"/api/v1/work-orders/{target}")).status_code == (404 if gone else 200)
        undone = await waiting.owner.post(f"/api/v1/ai/tool-calls/{waiting.call_id}/undo")
        assert undone.status_code == 200, undone.text
        assert (await waiting.owner.get(f"/api/v1/work-orders/{target}")).status_code == (200 if gone else 404)


async def test_nothing_is_undone_over_a_later_change(server: Server, model: ScriptedModel) -> None:
    """D-30: 409 CONFLICT_VERSION when the order moved on; a stranger sees nothing to undo."""
    stranger = await server.sign_in_as("stranger")
    async with proposal(server, model) as waiting:
        await waiting.decide(approve=True)
        await waiting.stream.to_the_end()
        path = f"/api/v1/ai/tool-calls/{waiting.call_id}/undo"
        assert (await stranger.post(path)).status_code == 404
        edit = {"version": 2, "title": "Moved on"}
        assert (await waiting.owner.patch(f"/api/v1/work-orders/{waiting.order['id']}", json=edit)).status_code == 200
        answer = await waiting.owner.post(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT_VERSION")
        assert (await waiting.order_now())["title"] == "Moved on"


async def test_two_undos_at_once_are_one(server: Server, model: ScriptedModel) -> None:
    """D-5, D-30."""
    async with proposal(server, model) as waiting:
        await waiting.decide(approve=True)
        await waiting.stream.to_the_end()
        path = f"/api/v1/ai/tool-calls/{waiting.call_id}/undo"
        answers = await asyncio.gather(*(waiting.owner.post(path) for _ in range(4)))
        assert [answer.status_code for answer in answers] == [200] * 4
        assert (await waiting.order_now())["version"] == 3
        assert await effects(server, waiting.order["id"]) == [waiting.call_id, f"{waiting.call_id}:undo"]


async def test_another_persons_order_cannot_be_proposed_about(server: Server, model: ScriptedModel) -> None:
    """SEC-5, WO-10: its id was never read, so it is blocked; a dispatcher who read it may."""
    stranger = await server.sign_in_as("stranger")
    order = await make_order(stranger, title="Not yours")
    owner = await server.sign_in_as("owner")
    model.add(call("update_work_order", {"id": order["id"], "priority": "high"}), say("I cannot."))
    async with say_to(owner, await open_session(owner), "change it") as stream:
        await stream.to_the_end()
    result = stream.named("tool_result")[0].data
    assert (result["outcome"], result["result"]["code"]) == ("blocked", "AI_INJECTION_BLOCKED")
    assert "need_read_first" in result["result"]["message"]

    dispatcher = await server.sign_in_as("dispatcher")
    model.add(
        call("admin_list_work_orders"),
        call("update_work_order", {"id": order["id"], "priority": "high"}),
        say("Done."),
    )
    async with say_to(dispatcher, await open_session(dispatcher), "change it") as stream:
        asked = (await stream.until("tool_approval_required")).data
        assert (await decide(dispatcher, asked["toolCallId"], approve=True)).status_code == 200
        await stream.to_the_end()
    assert await effects(server, order["id"]) == [asked["toolCallId"]]


@pytest.mark.parametrize("tool", WRITES)
async def test_a_second_approval_that_meets_the_effect_of_the_first_is_told_the_same(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """D-6, scenario 1.7: the order moved by this very call; that is no staleness, and nothing is asked anew."""
    async with proposal(server, model, tool=tool) as waiting:
        orders, effect = server.desk.orders, asyncio.Event()
        get = orders.get

        async def once_done(actor: Any, order_id: ObjectId) -> Any:
            if not first.done():
                return await get(actor, order_id)
            await asyncio.wait_for(effect.wait(), 10)
            return await get(actor, order_id)

        monkeypatch.setattr(orders, "get", once_done)
        first = asyncio.ensure_future(waiting.decide(approve=True))
        second = asyncio.ensure_future(waiting.decide(approve=True))
        assert (await first).status_code == 200
        await waiting.stream.until("tool_result")
        effect.set()
        assert (await second).status_code == 200
        await waiting.stream.to_the_end()
        assert len(waiting.stream.named("tool_approval_required")) == 1
        assert len(waiting.stream.named("tool_result")) == 2
