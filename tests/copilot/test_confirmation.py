"""Confirmation tokens: what they stand for, and that each is spent once (T-12)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from datetime import timedelta

import pytest
from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from app.core.redis import open_redis
from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server, ShiftedClock, Stores
from tests.copilot.console_talk import assert_well_formed, chat, confirm, question, refusal
from tests.copilot.stage import effects, proposal, stored_call
from tests.copilot.talk import decide

TOKEN_BYTES = 32


@pytest.mark.parametrize("approve", [True, False])
async def test_a_token_is_spent_once(server: Server, model: ScriptedModel, approve: bool) -> None:
    """T-12: the answer is the call's state; afterwards the same decision is 409 like the opposite one."""
    async with question(server, model) as asked:
        answer = await asked.confirm(approve=approve)
        assert answer.status_code == 200
        state = answer.json()["data"]
        assert (state["id"], state["approval"]["status"]) == (asked.call_id, "approved" if approve else "rejected")
        for again in (approve, not approve):
            assert refusal(await asked.confirm(approve=again)) == (409, "AI_APPROVAL_RESOLVED")
        await asked.stream.to_the_end()
        for again in (approve, not approve):
            assert refusal(await asked.confirm(approve=again)) == (409, "AI_APPROVAL_RESOLVED")
        assert await effects(server, asked.order["id"]) == ([asked.call_id] if approve else [])


async def test_of_ten_at_once_one_spends_it(server: Server, model: ScriptedModel) -> None:
    """T-12, scenario 1.5: one conditional update; one 200, nine 409, one effect."""
    async with question(server, model) as asked:
        answers = await asyncio.gather(*(asked.confirm() for _ in range(10)))
        assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
        await asked.stream.to_the_end()
        assert await effects(server, asked.order["id"]) == [asked.call_id]


async def test_an_unknown_token_and_another_persons_look_alike(server: Server, model: ScriptedModel) -> None:
    """T-12: 404 for both, for a dispatcher too; nothing is spent."""
    stranger, dispatcher = await server.sign_in_as("stranger"), await server.sign_in_as("dispatcher")
    async with question(server, model) as asked:
        foreign = await confirm(stranger, asked.token)
        unknown = await confirm(asked.owner, "x" * 43)
        assert refusal(foreign) == refusal(unknown) == (404, "NOT_FOUND")
        assert foreign.json()["error"] == unknown.json()["error"]
        for wrong in (asked.token[:-1], asked.token + "=", asked.token.swapcase(), asked.call_id, "\u2028"):
            assert refusal(await confirm(asked.owner, wrong)) == (404, "NOT_FOUND")
        assert refusal(await confirm(dispatcher, asked.token)) == (404, "NOT_FOUND")
        assert (await stored_call(server, asked.call_id))["outcome"] == "pending"
        assert (await asked.confirm()).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {}, {"approve": True}, {"confirmation_token": "x"}, {"confirmation_token": "", "approve": True},
        {"confirmation_token": "x", "approve": "yes"}, {"confirmationToken": "x", "approve": True},
        {"confirmation_token": "x", "approve": True, "extra": 1}, {"confirmation_token": 7, "approve": True},
    ],
)  # fmt: skip
async def test_a_body_that_is_not_strict_spends_nothing(server: Server, body: dict[str, object]) -> None:
    """T-12, HTTP-2."""
    owner = await server.sign_in_as("owner")
    assert refusal(await owner.post("/api/ai/confirm", json=body)) == (400, "VALIDATION_ERROR")


async def test_a_changed_target_is_asked_about_anew_in_the_same_stream(server: Server, model: ScriptedModel) -> None:
    """T-12, D-7: 409, the old token is void, a fresh `confirmation_required` carries the one that counts."""
    async with question(server, model) as asked:
        await asked.owner.patch(
            f"/api/v1/work-orders/{asked.order['id']}", json={"version": 1, "title": "Pump leaks badly"}
        )
        assert refusal(await asked.confirm()) == (409, "AI_APPROVAL_STALE")
        fresh = (await asked.stream.until("confirmation_required")).data
        assert fresh["tool_call_id"] != asked.call_id
        assert fresh["confirmation_token"] != asked.token
        assert fresh["diff"] == asked.asked["diff"]
        assert refusal(await asked.confirm()) == (409, "AI_APPROVAL_STALE")
        assert (await asked.order_now())["priority"] == "low"
        assert (await confirm(asked.owner, fresh["confirmation_token"])).status_code == 200
        heard = await asked.stream.to_the_end()
        assert await effects(server, asked.order["id"]) == [fresh["tool_call_id"]]
    assert_well_formed(heard)
    states = [event.data["status"] for event in heard if event.name == "status_changed"]
    assert states == ["running", "waiting_for_confirmation", "running", "complete"]
    results = [event.data for event in heard if event.name == "tool_result"]
    assert [result["success"] for result in results] == [True, False, True]
    assert results[1]["result"]["code"] == "AI_APPROVAL_STALE"


async def test_after_expiry_a_token_is_410(server: Server, model: ScriptedModel, clock: ShiftedClock) -> None:
    """T-12, D-6: by the server's clock, for both answers; nothing runs."""
    async with question(server, model) as asked:
        clock.advance(timedelta(minutes=10, seconds=1))
        for approve in (True, False):
            assert refusal(await asked.confirm(approve=approve)) == (410, "AI_APPROVAL_EXPIRED")
        await asked.stream.to_the_end()
        assert await effects(server, asked.order["id"]) == []


async def test_more_time_keeps_the_token_and_asks_again(
    server: Server, model: ScriptedModel, clock: ShiftedClock
) -> None:
    """T-12, D-30: the event is sent again with the later expiry."""
    async with question(server, model) as asked:
        extended = await asked.owner.post(f"/api/v1/ai/tool-calls/{asked.call_id}/extend")
        assert extended.status_code == 200
        again = (await asked.stream.until("confirmation_required")).data
        assert again["confirmation_token"] == asked.token
        assert again["expires_at"] > asked.asked["expires_at"]
        clock.advance(timedelta(minutes=12))
        assert (await asked.confirm()).status_code == 200


async def test_a_token_of_a_stopped_turn_decides_nothing_of_the_next(server: Server, model: ScriptedModel) -> None:
    """T-12: it stands for its own session, run and call, whatever waits now in another conversation."""
    async with question(server, model) as old:
        await old.owner.post(f"/api/v1/ai/runs/{old.stream.run_id}/cancel")
        await old.stream.to_the_end()
    assert (await old.owner.post("/api/v1/ai/sessions")).status_code == 201
    model.clear()
    async with question(server, model) as new:
        assert refusal(await confirm(new.owner, old.token)) == (409, "AI_APPROVAL_RESOLVED")
        assert (await stored_call(server, new.call_id))["outcome"] == "pending"
        assert await effects(server, new.order["id"]) == []


async def test_a_token_is_good_at_either_door(server: Server, model: ScriptedModel) -> None:
    """T-12, T-14: both dialects ask with the same token; what one door spent is spent at the other."""
    async with proposal(server, model) as waiting:
        token = waiting.asked["confirmationToken"]
        assert (await confirm(waiting.owner, token)).status_code == 200
        assert (await decide(waiting.owner, waiting.call_id, approve=True, confirmationToken=token)).status_code == 200
        await waiting.stream.to_the_end()
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]
    model.clear()
    async with question(server, model) as asked:
        answer = await decide(asked.owner, asked.call_id, approve=True, confirmationToken=asked.token)
        assert answer.status_code == 200
        assert refusal(await asked.confirm()) == (409, "AI_APPROVAL_RESOLVED")


async def test_the_policy_is_asked_again_when_the_token_is_spent(server: Server, model: ScriptedModel) -> None:
    """T-12, AUTH-5: what the person may do now counts, not what they could when it was staged."""
    async with question(server, model) as asked:
        person = await server.person("owner")
        await server.desk.database["users"].update_one({"_id": person.id}, {"$set": {"role": "viewer"}})
        assert (await asked.confirm()).status_code == 200
        heard = await asked.stream.to_the_end()
        assert await effects(server, asked.order["id"]) == []
    result = [event.data for event in heard if event.name == "tool_result"][-1]
    assert not result["success"]
    assert "Nothing was changed." in result["result"]["message"]


async def test_without_the_persons_ai_an_approval_is_refused(server: Server, model: ScriptedModel) -> None:
    """T-12, SEC-8: AI was switched off between the question and its answer."""
    async with question(server, model) as asked:
        person = await server.person("owner")
        await server.desk.database["users"].update_one({"_id": person.id}, {"$set": {"aiEnabled": False}})
        assert refusal(await asked.confirm()) == (403, "FORBIDDEN")
        assert await effects(server, asked.order["id"]) == []


async def test_a_token_is_nowhere_but_on_its_owners_wire(
    server: Server,
    model: ScriptedModel,
    stores: Stores,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """T-12: 256 bits; neither database, Redis, log nor model ever holds it. The call keeps its SHA-256."""
    caplog.set_level("DEBUG")
    owner = await server.sign_in_as("owner")
    model.add(call("create_work_order", {"title": "A new pump"}), say("ok"))
    async with chat(owner) as stream:
        asked = (await stream.until("confirmation_required")).data
        token = asked["confirmation_token"]
        await confirm(owner, token)
        await confirm(owner, token)
        await stream.to_the_end()
    assert len(token) >= TOKEN_BYTES * 4 / 3
    kept = await stored_call(server, asked["tool_call_id"])
    assert kept["approval"]["tokenHash"] == hashlib.sha256(token.encode()).hexdigest()
    database = server.desk.database
    rows = [str(row) for name in await database.list_collection_names() async for row in database[name].find()]
    async with open_redis(stores.redis_url) as redis:
        keys = [key async for key in redis.scan_iter(f"*desk:{stores.database}*", count=1000)]
        streams = [str(await redis.xrange(key)) for key in keys if await redis.type(key) == "stream"]
        texts = [str(await redis.get(key)) for key in keys if await redis.type(key) == "string"]
    assert streams
    answers = json.dumps((await owner.get(f"/api/v1/ai/runs/{stream.run_id}")).json())
    captured = capfd.readouterr()
    places = (*rows, *keys, *streams, *texts, json.dumps(model.requests), answers, caplog.text, *captured)
    assert not any(token in place for place in places)
    assert kept["approval"]["tokenHash"] not in answers + caplog.text + "".join(captured)


async def test_a_token_is_found_by_an_index(server: Server, model: ScriptedModel) -> None:
    """DATA-3, T-12: one key is examined. Two calls never share one; records without one do not collide."""
    async with question(server, model) as asked:
        database = server.desk.database
        kept = (await stored_call(server, asked.call_id))["approval"]["tokenHash"]
        await database.command("profile", 2)
        found = await server.desk.runs.call_by_token_hash(kept)
        await database.command("profile", 0)
        assert found is not None
        assert str(found.id) == asked.call_id
        profiled = [row async for row in database["system.profile"].find({"ns": f"{database.name}.agenttoolcalls"})]
        await database.drop_collection("system.profile")
        rows = [row for row in profiled if "approval.tokenHash" in row["command"].get("filter", {})]
        assert [(row["keysExamined"], row["docsExamined"], row["nreturned"]) for row in rows] == [(1, 1, 1)]
        for _ in range(2):
            await database["agenttoolcalls"].insert_one({"_id": ObjectId(), "approval": {"tokenHash": None}})
        with pytest.raises(DuplicateKeyError):
            await database["agenttoolcalls"].insert_one({"_id": ObjectId(), "approval": {"tokenHash": kept}})


async def test_a_proposal_of_an_older_desk_is_not_found_by_a_token(server: Server, model: ScriptedModel) -> None:
    """T-12: staged before tokens had a hash, it is decided at the other doors."""
    async with question(server, model) as asked:
        calls = server.desk.database["agenttoolcalls"]
        await calls.update_one({"_id": ObjectId(asked.call_id)}, {"$unset": {"approval.tokenHash": ""}})
        assert refusal(await asked.confirm()) == (404, "NOT_FOUND")
        assert (await decide(asked.owner, asked.call_id, approve=True)).status_code == 200
