"""The review queue: seen by dispatchers alone, run once, refused with a reason, the requester told (T-8, HTTP-5)."""

from __future__ import annotations

import asyncio

import httpx

from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import effects
from tests.tools.reviewed import REVIEW, Kept, kept, send_form


async def _status(server: Server, made: Kept) -> str:
    found = await server.desk.database["toolreviews"].find_one({"_id": made.review["_id"]})
    assert found is not None
    return str(found["status"])


async def _run(made: Kept, *, fragment: bool = False, args_hash: str = "") -> httpx.Response:
    shown = args_hash or made.review["argsHash"]
    return await send_form(made.dispatcher, f"{made.path}/run", fragment=fragment, args_hash=shown)


async def test_a_kept_request_is_shown_whole_to_a_dispatcher(server: Server, model: ScriptedModel) -> None:
    """T-8, T-13: who asked, what for, why it was kept with the rule cited, the frozen request, its hash and its run."""
    made = await kept(server, model, priority="high", title="Pump \u202e leaks")
    page = (await made.dispatcher.get(REVIEW)).text
    assert "Rosa Lind asked" in page
    assert "an admin raised it to review" in page
    assert "<code>raised</code>" in page
    assert "(raised by an admin)" in page
    assert '<del><span class="vh">removed: </span>Low</del>' in page
    assert "⟨U+202E⟩" in page
    assert made.review["argsHash"][:4] in page
    assert f"/app/admin/agents/runs/{made.run_id}#call-" in page
    assert await effects(server, made.order["id"]) == []


async def test_the_queue_is_empty_in_words(server: Server) -> None:
    """HTTP-5: an empty state says what will be here; the rail counts nothing."""
    page = (await (await server.sign_in_as("dispatcher")).get(REVIEW)).text
    assert "Nothing waits for review" in page
    assert '<span class="review-count"></span>' in page


async def test_run_changes_the_order_exactly_once_as_the_person_who_asked(server: Server, model: ScriptedModel) -> None:
    """T-8, D-5: one effect; the second dispatcher is told, with the request as it is now."""
    made = await kept(server, model)
    assert (await made.dispatcher.get("/app/work-orders")).text.count('<span class="review-count">1</span>') == 1
    answer = await _run(made, fragment=True)
    assert answer.status_code == 200
    assert "Was run" in answer.text
    assert f"{made.path}/run" not in answer.text
    assert '<hx-partial hx-target=".review-count" hx-swap="textContent"></hx-partial>' in answer.text
    again = await _run(made, fragment=True)
    assert again.status_code == 409
    assert "Somebody decided this already" in again.text
    assert f"{made.path}/run" not in again.text
    assert len(await effects(server, made.order["id"])) == 1
    order = (await made.owner.get(f"/api/v1/work-orders/{made.order['id']}")).json()["data"]
    assert (order["priority"], order["version"]) == ("high", 2)


async def test_two_dispatchers_at_once_have_one_winner(server: Server, model: ScriptedModel) -> None:
    """T-8, scenario 1.7: run and refuse in the same moment: one is done, the other is told."""
    made = await kept(server, model)
    answers = await asyncio.gather(_run(made), _run(made), send_form(made.dispatcher, f"{made.path}/refuse"))
    assert sorted(answer.status_code for answer in answers) == [303, 409, 409]
    done = await effects(server, made.order["id"])
    assert len(done) == (0 if await _status(server, made) == "refused" else 1)


async def test_a_refusal_tells_its_reason_to_the_person(server: Server, model: ScriptedModel) -> None:
    """T-8: nothing runs; reason and outcome stand in the queue and on the requester's own page."""
    made = await kept(server, model)
    answer = await send_form(made.dispatcher, f"{made.path}/refuse", reason="Not before <b>Friday</b>.")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{REVIEW}?done=refused")
    queue = (await made.dispatcher.get(REVIEW)).text
    assert "Refused" in queue
    assert "Not before &lt;b&gt;Friday&lt;/b&gt;." in queue
    own = (await made.owner.get("/app/approvals")).text
    assert "Refused by a dispatcher" in own
    assert "Not before &lt;b&gt;Friday&lt;/b&gt;." in own
    assert await effects(server, made.order["id"]) == []
    late = await _run(made)
    assert late.status_code == 409
    assert "Somebody decided this already" in late.text
    assert await effects(server, made.order["id"]) == []


async def test_a_reason_has_its_limit(server: Server, model: ScriptedModel) -> None:
    """T-8: 500 characters; the request still waits after a refusal of the form."""
    made = await kept(server, model)
    answer = await send_form(made.dispatcher, f"{made.path}/refuse", reason="x" * 501)
    assert answer.status_code == 400
    assert await _status(server, made) == "waiting"


async def test_another_hash_than_the_one_that_was_shown_runs_nothing(server: Server, model: ScriptedModel) -> None:
    """T-8, D-8: the dispatcher's word is for what they saw."""
    made = await kept(server, model)
    for fragment in (True, False):
        answer = await _run(made, fragment=fragment, args_hash="0" * 64)
        assert answer.status_code == 409
        assert "This is not the request that was shown" in answer.text
        assert f"{made.path}/run" in answer.text
    assert await _status(server, made) == "waiting"
    assert await effects(server, made.order["id"]) == []


async def test_an_unknown_request_and_a_malformed_one(server: Server) -> None:
    """T-8, HTTP-5: 404 and 400; a missing hash is 400."""
    dispatcher = await server.sign_in_as("dispatcher")
    unknown = f"{REVIEW}/{'0' * 24}/run"
    assert (await send_form(dispatcher, unknown, args_hash="0" * 64)).status_code == 404
    assert (await send_form(dispatcher, unknown)).status_code == 400
    assert (await send_form(dispatcher, f"{REVIEW}/none/run", args_hash="0" * 64)).status_code == 400


async def test_the_requester_sees_what_a_dispatcher_ran(server: Server, model: ScriptedModel) -> None:
    """T-8: waiting and run under Approvals, and the effect in the run itself, with Undo and the proof."""
    made = await kept(server, model)
    assert "Waits for a dispatcher" in (await made.owner.get("/app/approvals")).text
    run_page = f"/app/runs/{made.run_id}"
    assert "For a dispatcher’s review" in (await made.owner.get(run_page)).text
    await _run(made)
    own = (await made.owner.get("/app/approvals")).text
    assert "Run by a dispatcher" in own
    shown = (await made.owner.get(run_page)).text
    assert "Run by a dispatcher" in shown
    assert "/undo" in shown
    assert "an admin raised it to review" in shown


async def test_a_request_whose_order_moved_fails_and_says_so(server: Server, model: ScriptedModel) -> None:
    """T-8, D-7: nothing is changed blindly; the card says that it did not work."""
    made = await kept(server, model)
    edit = {"version": 1, "title": "Edited meanwhile"}
    assert (await made.owner.patch(f"/api/v1/work-orders/{made.order['id']}", json=edit)).status_code == 200
    answer = await _run(made, fragment=True)
    assert answer.status_code == 200
    assert "Did not work" in answer.text
    assert "problem" in answer.headers["hx-trigger"]
    assert "Run by a dispatcher, did not work" in (await made.owner.get("/app/approvals")).text
    order = (await made.owner.get(f"/api/v1/work-orders/{made.order['id']}")).json()["data"]
    assert (order["priority"], order["version"]) == ("low", 2)


async def test_nobody_else_sees_or_decides(server: Server, model: ScriptedModel) -> None:
    """Scenario 3.7, T-8: user and viewer 403, page and form; nothing is run."""
    made = await kept(server, model)
    for who in ("owner", "stranger", "viewer"):
        client = await server.sign_in_as(who)
        assert (await client.get(REVIEW)).status_code == 403
        run = await send_form(client, f"{made.path}/run", args_hash=made.review["argsHash"])
        assert run.status_code == 403
        assert (await send_form(client, f"{made.path}/refuse")).status_code == 403
        assert 'class="review-count"' not in (await client.get("/app/profile")).text
    bare = await made.dispatcher.post(f"{made.path}/run", data={"args_hash": made.review["argsHash"]})
    assert bare.status_code == 403
    assert await _status(server, made) == "waiting"
