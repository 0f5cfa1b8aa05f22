"""What a dead process leaves behind is met by the sweeper, or by the person's next message (D-1, D-5, D-7)."""

from __future__ import annotations

from datetime import timedelta

from bson import ObjectId

from app.core.ids import derived_id
from app.llm.demo.script import say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import Proposal, assert_valid_for_the_provider, effects, proposal, stored_call, turn
from tests.copilot.talk import decide


async def _set_call(server: Server, waiting: Proposal, **fields: object) -> None:
    await server.desk.database["agenttoolcalls"].update_one({"_id": ObjectId(waiting.call_id)}, {"$set": fields})


async def _set_run(server: Server, waiting: Proposal, **fields: object) -> None:
    await server.desk.database["agentruns"].update_one({"_id": ObjectId(waiting.run_id)}, {"$set": fields})


async def test_an_approval_whose_decider_died_is_carried_out_by_the_sweeper(
    server: Server, model: ScriptedModel
) -> None:
    """D-1, D-5: approved, nobody woke the run."""
    async with proposal(server, model) as waiting:
        await _set_call(server, waiting, outcome="approved", **{"approval.status": "approved"})
        await server.desk.copilot.sweeper.sweep()
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]


async def test_an_executor_that_died_is_followed_by_another_and_the_effect_is_met(
    server: Server, model: ScriptedModel
) -> None:
    """D-5: the write was made, its record was not; the lease has lapsed; one effect, recorded as executed."""
    async with proposal(server, model) as waiting:
        person = await server.person("owner")
        past = server.clock.now() - timedelta(seconds=1)
        await _set_call(
            server, waiting, outcome="approved", lease={"by": "dead", "until": past}, **{"approval.status": "approved"}
        )
        await _set_run(server, waiting, parkedOn=None, leaseUntil=past)
        await server.desk.database["workorders"].update_one(
            {"_id": ObjectId(waiting.order["id"])},
            {
                "$set": {"priority": "high", "version": 2},
                "$push": {
                    "history": {
                        "toolCallId": waiting.call_id,
                        "by": str(person.id),
                        "at": past,
                        "version": 2,
                        "source": "copilot",
                        "kind": "changed",
                        "changes": [{"field": "priority", "from": "low", "to": "high"}],
                    }
                },
            },
        )
        await server.desk.copilot.sweeper.sweep()
        heard = await waiting.stream.to_the_end()
        assert heard[-1].name == "message_done"
        assert waiting.stream.named("tool_result")[-1].data["outcome"] == "executed"
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]
        assert (await waiting.order_now())["version"] == 2


async def test_a_new_proposal_that_was_never_made_is_made_by_the_sweeper(server: Server, model: ScriptedModel) -> None:
    """D-7: the old call was marked stale, then the process died."""
    async with proposal(server, model) as waiting:
        fresh = derived_id(waiting.call_id, "restaged")
        edit = {"version": 1, "title": "Edited meanwhile"}
        await waiting.owner.patch(f"/api/v1/work-orders/{waiting.order['id']}", json=edit)
        await _set_call(
            server,
            waiting,
            outcome="stale",
            supersededBy=fresh,
            code="AI_APPROVAL_STALE",
            **{"approval.status": "stale"},
        )
        await server.desk.copilot.sweeper.sweep()
        asked = (await waiting.stream.until("tool_approval_required")).data
        assert asked["toolCallId"] == str(fresh)
        assert asked["stagedVersion"] == 2
        await decide(waiting.owner, asked["toolCallId"], approve=True)
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
        assert await effects(server, waiting.order["id"]) == [str(fresh)]
        assert_valid_for_the_provider(model.requests[-1])


async def test_a_run_left_behind_by_an_expiry_is_expired(server: Server, model: ScriptedModel) -> None:
    """003 §4.5, scenario 2.8: the call was expired, then the process died: the model is not asked any more."""
    async with proposal(server, model) as waiting:
        await _set_call(server, waiting, outcome="expired", **{"approval.status": "expired"})
        asked = len(model.requests)
        await server.desk.copilot.sweeper.sweep()
        assert (await waiting.stream.to_the_end())[-1].data["code"] == "AI_APPROVAL_EXPIRED"
        assert len(model.requests) == asked
        assert (await server.desk.runs.get(ObjectId(waiting.run_id))).status == "expired"


async def test_a_message_takes_over_what_a_dead_process_left(server: Server, model: ScriptedModel) -> None:
    """D-1, 003 §4.5: the lease lapsed mid-step: that run ends as error, its proposal is void, a new one starts."""
    async with proposal(server, model) as waiting:
        await _set_run(server, waiting, parkedOn=None, leaseUntil=server.clock.now() - timedelta(seconds=1))
        model.clear()
        again = await turn(waiting.owner, model, say("Here I am."), session=waiting.session)
        assert again.heard[-1].name == "message_done"
        heard = await waiting.stream.to_the_end()
        assert (heard[-2].data["outcome"], heard[-1].data["code"]) == ("aborted", "INTERNAL")
        assert (await stored_call(server, waiting.call_id))["outcome"] == "aborted"
        assert_valid_for_the_provider(model.requests[-1])


async def test_a_record_that_cannot_be_swept_does_not_keep_the_others_waiting(
    server: Server, model: ScriptedModel
) -> None:
    """D-1: one broken row, and the sweep goes on."""
    broken = {
        "_id": ObjectId(),
        "userId": ObjectId(),
        "mode": "copilot",
        "status": "running",
        "parkedOn": ObjectId(),
        "fence": 1,
    }
    await server.desk.database["agentruns"].insert_one(broken)
    async with proposal(server, model) as waiting:
        await _set_call(server, waiting, outcome="approved", **{"approval.status": "approved"})
        await server.desk.copilot.sweeper.sweep()
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"
