"""AI is switched off for a person while a proposal waits: it is not approved any more, and it ends (SEC-8, T-12)."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from app.llm.demo.script import say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import Proposal, csrf_of, effects, proposal, stored_call
from tests.copilot.talk import open_session, say_to

WHO = ["the person", "a dispatcher"]


async def switch_ai(server: Server, owner: httpx.AsyncClient, by: str, *, on: bool) -> None:
    """The person's own word, or the dispatcher's."""
    if by == "the person":
        answer = await owner.patch("/api/v1/users/me", json={"aiOptOut": not on})
    else:
        person, dispatcher = await server.person("owner"), await server.sign_in_as("dispatcher")
        answer = await dispatcher.patch(f"/api/v1/admin/users/{person.id}/ai", json={"aiEnabled": on})
    assert answer.status_code == 200, answer.text


async def assert_ended(server: Server, waiting: Proposal) -> None:
    """The turn was stopped, what waited is void, and nothing was changed."""
    async with asyncio.timeout(10):
        heard = await waiting.stream.to_the_end()
    assert (heard[-2].name, heard[-2].data["outcome"]) == ("tool_result", "aborted")
    assert (heard[-1].name, heard[-1].data["code"]) == ("error", "ABORTED")
    kept = await stored_call(server, waiting.call_id)
    assert (kept["outcome"], kept["approval"]["status"]) == ("aborted", "aborted")
    assert await effects(server, waiting.order["id"]) == []
    assert (await waiting.owner.get("/api/v1/ai/approvals")).json()["data"] == []


@pytest.mark.parametrize("by", WHO)
async def test_an_approval_is_refused_in_plain_words_and_the_proposal_ends(
    server: Server, model: ScriptedModel, by: str
) -> None:
    """SEC-8, T-12, PROFILE-2, ADM-4: 403, no effect, no further word with the model; then it is decided."""
    async with proposal(server, model) as waiting:
        await switch_ai(server, waiting.owner, by, on=False)
        asked = len(model.requests)
        refused = await waiting.decide(approve=True, confirmationToken=waiting.asked["confirmationToken"])
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
        assert "AI was switched off for your account" in refused.json()["error"]["message"]
        await assert_ended(server, waiting)
        again = await waiting.decide(approve=True)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "AI_APPROVAL_RESOLVED")
        assert len(model.requests) == asked


@pytest.mark.parametrize("by", WHO)
async def test_a_rejection_stays_possible(server: Server, model: ScriptedModel, by: str) -> None:
    """SEC-8, D-6: no is a person's right, with or without AI."""
    async with proposal(server, model) as waiting:
        await switch_ai(server, waiting.owner, by, on=False)
        answer = await waiting.decide(approve=False, reason="I do it myself")
        assert (answer.status_code, answer.json()["data"]["outcome"]) == (200, "rejected")
        await waiting.stream.to_the_end()
        assert await effects(server, waiting.order["id"]) == []


async def test_what_was_approved_before_is_told_the_same_again(server: Server, model: ScriptedModel) -> None:
    """D-5, D-6: what is approved is never voided; a retry of the decision is no new one."""
    async with proposal(server, model) as waiting:
        assert (await waiting.decide(approve=True)).status_code == 200
        await waiting.stream.to_the_end()
        await switch_ai(server, waiting.owner, "the person", on=False)
        again = await waiting.decide(approve=True)
        assert (again.status_code, again.json()["data"]["outcome"]) == (200, "executed")
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]


async def test_a_changed_target_is_not_proposed_anew(server: Server, model: ScriptedModel) -> None:
    """SEC-8, D-7: no new proposal for somebody without AI."""
    async with proposal(server, model) as waiting:
        path, body = f"/api/v1/work-orders/{waiting.order['id']}", {"version": 1, "status": "in_progress"}
        assert (await waiting.owner.patch(path, json=body)).status_code == 200
        await switch_ai(server, waiting.owner, "the person", on=False)
        assert (await waiting.decide(approve=True)).status_code == 403
        await assert_ended(server, waiting)
        assert await server.desk.database["agenttoolcalls"].count_documents({"approval": {"$ne": None}}) == 1


async def test_the_modal_says_why(server: Server, model: ScriptedModel) -> None:
    """COP-7, SEC-8: as a fragment inside the modal, and the copilot serves again once AI is on again."""
    async with proposal(server, model) as waiting:
        token = await csrf_of(waiting.owner)
        await switch_ai(server, waiting.owner, "the person", on=False)
        refused = await waiting.owner.post(
            f"/app/approvals/{waiting.call_id}/decide",
            data={"decision": "approve", "_csrf_token": token},
            headers={"HX-Request": "true", "HX-Request-Type": "partial"},
        )
        assert refused.status_code == 403
        assert "AI was switched off for your account" in refused.text
        assert "<html" not in refused.text
        await assert_ended(server, waiting)
        await switch_ai(server, waiting.owner, "the person", on=True)
        model.clear()
        model.add(say("Here I am."))
        async with say_to(waiting.owner, await open_session(waiting.owner), "and now?") as stream:
            await stream.to_the_end()
        assert stream.text == "Here I am."
