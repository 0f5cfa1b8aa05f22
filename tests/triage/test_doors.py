"""The API and the fragment of triage over real HTTP: who may, what is answered (D-14, D-15, D-18, D-21, D-30)."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from bson import ObjectId

from app.core.mongo import Database
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server, ShiftedClock
from tests.triage.house import House, propose

ADMIN_DOORS = [
    ("GET", "/api/v1/admin/agents/triage", None),
    ("PATCH", "/api/v1/admin/agents/triage/config", {"mode": "suggest"}),
    ("POST", "/api/v1/admin/agents/triage/run", {"workOrderId": "0" * 24}),
    ("POST", "/api/v1/admin/agents/disable", {}),
    ("POST", "/api/v1/admin/agents/enable", {}),
    ("GET", "/api/v1/admin/agents/outbox", None),
    ("POST", f"/api/v1/admin/agents/outbox/{'0' * 24}/retry", None),
]


@pytest.fixture
def house(server: Server, model: ScriptedModel, clock: ShiftedClock, database: Database) -> House:
    return House(server.desk, model, clock, database)


@pytest.fixture
async def suggested(house: House) -> tuple[ObjectId, str]:
    """An order of the owner's at low priority, and the id of its suggestion: high."""
    order = await house.order("Pump P-204 leaks", priority="low")
    house.model.add(propose(suggestedPriority="high", summary="A leak that grows."))
    await house.triage.claim_and_run()
    return order, str((await house.the(order))["_id"])


async def test_suggestions_are_seen_by_whoever_sees_the_order(
    server: Server, house: House, suggested: tuple[ObjectId, str]
) -> None:
    """D-30, 003 §8.3: owner, dispatcher and viewer; a stranger gets 404."""
    order, suggestion_id = suggested
    for who in ("owner", "dispatcher", "viewer"):
        answer = await (await server.sign_in_as(who)).get(f"/api/v1/work-orders/{order}/suggestions")
        assert answer.status_code == 200
        (found,) = answer.json()["data"]
        assert (found["id"], found["workOrderId"], found["suggestedPriority"]) == (suggestion_id, str(order), "high")
        assert (found["applied"], found["summary"]) == (False, "A leak that grows.")
        assert "eventKey" not in found
    answer = await (await server.sign_in_as("stranger")).get(f"/api/v1/work-orders/{order}/suggestions")
    assert answer.status_code == 404


async def test_the_owner_applies_a_suggestion_once(
    server: Server, house: House, suggested: tuple[ObjectId, str]
) -> None:
    """D-15: the priority changes by their hand; the second click changes nothing; who did is recorded."""
    order, suggestion_id = suggested
    client = await server.sign_in_as("owner")
    for _ in range(2):
        answer = await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/apply")
        assert answer.status_code == 200, answer.text
        assert answer.json()["data"]["appliedBy"] == str((await house.person("owner")).id)
    stored = await house.stored(order)
    assert (stored["priority"], stored["version"], stored["history"][-1]["via"]) == ("high", 2, "triage")
    assert (await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/dismiss")).status_code == 409


async def test_the_owner_dismisses_a_suggestion_and_it_stays_so(
    server: Server, house: House, suggested: tuple[ObjectId, str]
) -> None:
    """D-15."""
    order, suggestion_id = suggested
    client = await server.sign_in_as("owner")
    for _ in range(2):
        answer = await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/dismiss")
        assert answer.status_code == 200
    assert answer.json()["data"]["dismissedBy"] == str((await house.person("owner")).id)
    assert (await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/apply")).status_code == 409
    assert (await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/undo")).status_code == 409
    assert (await house.stored(order))["version"] == 1


async def test_an_applied_suggestion_is_undone(server: Server, house: House, suggested: tuple[ObjectId, str]) -> None:
    """D-14, D-30."""
    order, suggestion_id = suggested
    client = await server.sign_in_as("dispatcher")
    await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/apply")
    answer = await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/undo")
    assert (answer.status_code, answer.json()["data"]["applied"]) == (200, False)
    assert (await house.stored(order))["priority"] == "low"


@pytest.mark.parametrize(("who", "status"), [("stranger", 404), ("viewer", 403)])
@pytest.mark.parametrize("what", ["apply", "dismiss", "undo"])
async def test_nobody_else_decides(
    server: Server, house: House, suggested: tuple[ObjectId, str], *, who: str, status: int, what: str
) -> None:
    """D-15: a stranger does not even know it; a viewer only reads."""
    order, suggestion_id = suggested
    client = await server.sign_in_as(who)
    assert (await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/{what}")).status_code == status
    page = await client.post(f"/app/triage/suggestions/{suggestion_id}/{what}", data=await _token(client))
    assert page.status_code == status
    assert (await house.stored(order))["version"] == 1


@pytest.mark.parametrize(("method", "path", "body"), ADMIN_DOORS)
async def test_only_a_dispatcher_reaches_the_agents(server: Server, method: str, path: str, body: Any) -> None:
    """AGT-8, scenario 3.7."""
    for who in ("owner", "viewer"):
        answer = await (await server.sign_in_as(who)).request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    answer = await (await server.client()).request(method, path, json=body)
    assert answer.status_code == 401


async def test_the_policy_is_made_on_first_use(server: Server) -> None:
    """D-30, D-27: the first values."""
    answer = await (await server.sign_in_as("dispatcher")).get("/api/v1/admin/agents/triage")
    policy = answer.json()["data"]
    assert {name: policy[name] for name in ("name", "enabled", "mode", "allowedFields", "dailyActionCap")} == {
        "name": "triage",
        "enabled": True,
        "mode": "suggest",
        "allowedFields": ["priority"],
        "dailyActionCap": 200,
    }
    assert (policy["flagThreshold"], policy["workingHours"], policy["applyDirection"]) == ("high", "*", "both")


async def test_a_dispatcher_changes_the_policy_strictly(server: Server, house: House) -> None:
    """AGT-8, D-30, D-12: any subset; what is not of the policy is refused, field by field."""
    client = await server.sign_in_as("dispatcher")
    path = "/api/v1/admin/agents/triage/config"
    changed = await client.patch(path, json={"mode": "auto-apply", "dailyActionCap": 50})
    data = changed.json()["data"]
    assert (changed.status_code, data["mode"], data["dailyActionCap"]) == (200, "auto-apply", 50)
    assert data["updatedBy"] == str((await house.person("dispatcher")).id)
    bad = [({"mode": "yolo"}, "mode"), ({"enabled": False}, "_"), ({"workingHours": "9to5"}, "workingHours")]
    for body, field in bad:
        refused = await client.patch(path, json=body)
        assert (refused.status_code, refused.json()["error"]["details"][0]["field"]) == (400, field)
    assert (await client.get("/api/v1/admin/agents/triage")).json()["data"] == data


async def test_a_dispatcher_switches_triage_off_and_on(server: Server, house: House) -> None:
    """D-18, AGT-9: with since when and by whom; the waiting events are counted with their reason."""
    client = await server.sign_in_as("dispatcher")
    await house.order()
    answer = await client.post("/api/v1/admin/agents/disable", json={})
    assert (answer.status_code, answer.json()["data"]["enabled"]) == (200, False)
    await house.triage.claim_and_run()
    policy = (await client.get("/api/v1/admin/agents/triage")).json()["data"]
    assert policy["switchedBy"] == str((await house.person("dispatcher")).id)
    assert policy["switchedAt"].endswith("Z")
    outbox = (await client.get("/api/v1/admin/agents/outbox")).json()["data"]
    assert (outbox["pending"], outbox["waiting"], outbox["closed"]) == (1, {"switched_off": 1}, "switched_off")
    assert outbox["items"][0]["waitReason"] == "switched_off"
    assert (await client.post("/api/v1/admin/agents/enable")).json()["data"]["enabled"] is True  # without a body
    assert (await house.triage.claim_and_run()).done == 1


async def test_a_manual_trigger_runs_the_order_s_own_event(server: Server, house: House) -> None:
    """D-21: done, then skipped; as the system; the run is named."""
    client = await server.sign_in_as("dispatcher")
    order = await house.order()
    answer = await client.post("/api/v1/admin/agents/triage/run", json={"workOrderId": str(order)})
    data = answer.json()["data"]
    assert (answer.status_code, data["outcome"]) == (200, "done")
    assert data["runId"] == str((await house.the(order))["runId"])
    again = (await client.post("/api/v1/admin/agents/triage/run", json={"workOrderId": str(order)})).json()["data"]
    assert (again["outcome"], again["runId"]) == ("skipped", data["runId"])
    assert (await house.event(order))["status"] == "done"
    assert (await house.runs())[0].get("userId") is None


async def test_a_manual_trigger_makes_the_event_of_an_order_without_one(server: Server, house: House) -> None:
    """D-21: a seeded order has none."""
    order = await house.order()
    await house.database["outboxevents"].delete_many({})
    client = await server.sign_in_as("dispatcher")
    answer = await client.post("/api/v1/admin/agents/triage/run", json={"workOrderId": str(order)})
    assert answer.json()["data"]["outcome"] == "done"


async def test_a_manual_trigger_is_bound_by_policy_budgets_and_opt_out(server: Server, house: House) -> None:
    """D-21, D-18, SEC-8: waiting with the reason; skipped; nothing is called."""
    client = await server.sign_in_as("dispatcher")
    order = await house.order()
    await house.policy(enabled=False)
    waiting = (await client.post("/api/v1/admin/agents/triage/run", json={"workOrderId": str(order)})).json()["data"]
    assert (waiting["outcome"], waiting["runId"]) == ("waiting", None)
    assert "switched off" in waiting["reason"]
    await house.policy(enabled=True, dailyActionCap=0)
    capped = (await client.post("/api/v1/admin/agents/triage/run", json={"workOrderId": str(order)})).json()["data"]
    assert capped["outcome"] == "waiting"
    await house.opt_out()
    skipped = (await client.post("/api/v1/admin/agents/triage/run", json={"workOrderId": str(order)})).json()["data"]
    assert skipped["outcome"] == "skipped"
    assert house.model.requests == []


@pytest.mark.parametrize(("body", "status"), [({"workOrderId": "x"}, 400), ({}, 400), ({"workOrderId": "0" * 24}, 404)])
async def test_a_manual_trigger_of_nothing_is_refused(server: Server, body: dict[str, str], status: int) -> None:
    """D-21."""
    client = await server.sign_in_as("dispatcher")
    assert (await client.post("/api/v1/admin/agents/triage/run", json=body)).status_code == status


@pytest.mark.parametrize("overrides", [{"ai_enabled": False}])
async def test_without_ai_the_manual_trigger_is_unavailable(server: Server, house: House) -> None:
    """D-22: after authentication."""
    order = await house.order()
    client = await server.sign_in_as("dispatcher")
    answer = await client.post("/api/v1/admin/agents/triage/run", json={"workOrderId": str(order)})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "AI_UNAVAILABLE")
    assert (await client.get("/api/v1/admin/agents/triage")).status_code == 200


async def test_a_dead_letter_is_shown_with_its_reason_and_tried_again(server: Server, house: House) -> None:
    """AGT-5, D-30."""
    order = await house.order()
    client = await server.sign_in_as("dispatcher")
    event_id = str((await house.event(order))["_id"])
    assert (await client.post(f"/api/v1/admin/agents/outbox/{event_id}/retry")).status_code == 409
    event = (await house.desk.outbox.claim(1, 15_000))[0]
    await house.desk.outbox.fail(event, "The AI service did not answer (status 500).")
    failed = (await client.get("/api/v1/admin/agents/outbox?status=failed")).json()["data"]
    assert (failed["total"], failed["failed"]) == (1, 1)
    assert failed["items"][0]["lastError"] == "The AI service did not answer (status 500)."
    assert (await client.post(f"/api/v1/admin/agents/outbox/{event_id}/retry")).status_code == 200
    assert (await house.triage.claim_and_run()).done == 1


async def test_the_fragment_waits_then_shows_then_decides(server: Server, house: House) -> None:
    """D-15, issue 2.8: it asks again while it waits; applying answers the fragment and tells the page."""
    client = await server.sign_in_as("owner")
    order = await house.order("Pump leaks", priority="low")
    path = f"/app/work-orders/{order}/suggestion"
    waiting = await client.get(path, headers=_HTMX)
    assert waiting.status_code == 200
    assert f'hx-get="{path}?look=2"' in waiting.text
    assert "every 2s" in waiting.text
    house.model.add(propose(suggestedPriority="high", summary="<b>Leak</b>"))
    await house.triage.claim_and_run()
    shown = await client.get(f"{path}?look=2", headers=_HTMX)
    assert "&lt;b&gt;Leak&lt;/b&gt;" in shown.text
    assert "every 2s" not in shown.text
    suggestion_id = (await house.the(order))["_id"]
    applied = await client.post(
        f"/app/triage/suggestions/{suggestion_id}/apply", data=_token_in(shown.text), headers=_HTMX
    )
    assert applied.status_code == 200, applied.text
    assert "Applied by Rosa Lind" in applied.text
    assert "work-order-changed" in applied.headers["hx-trigger"]
    undone = await client.post(
        f"/app/triage/suggestions/{suggestion_id}/undo", data=_token_in(shown.text), headers=_HTMX
    )
    assert "Taken back by Rosa Lind" in undone.text
    assert (await house.stored(order))["priority"] == "low"


async def test_the_fragment_stops_asking_in_the_end(server: Server, house: House) -> None:
    """Issue 2.8: bounded; nonsense in the address looks no more either."""
    client = await server.sign_in_as("owner")
    order = await house.order()
    for look in ("30", "999", "x", "-1"):
        page = await client.get(f"/app/work-orders/{order}/suggestion?look={look}", headers=_HTMX)
        assert "hx-get" not in page.text
        assert "longer than usual" in page.text


async def test_the_fragment_says_why_an_event_waits(server: Server, house: House) -> None:
    """D-11: with the reason, and without asking every two seconds."""
    order = await house.order()
    await house.policy(enabled=False)
    await house.triage.claim_and_run()
    page = await (await server.sign_in_as("owner")).get(f"/app/work-orders/{order}/suggestion", headers=_HTMX)
    assert "switched off" in page.text
    assert "hx-get" not in page.text


async def test_the_fragment_of_an_order_without_triage_is_empty(server: Server, house: House) -> None:
    """SEC-8, HTTP-5: an opted-out owner's order waits for nothing; a stranger's request is 404."""
    await house.opt_out()
    order = await house.order()
    page = await (await server.sign_in_as("owner")).get(f"/app/work-orders/{order}/suggestion", headers=_HTMX)
    assert (page.status_code, page.text.strip()) == (200, "")
    stranger = await server.sign_in_as("stranger")
    assert (await stranger.get(f"/app/work-orders/{order}/suggestion", headers=_HTMX)).status_code == 404


async def test_the_forms_work_without_javascript(server: Server, house: House, suggested: tuple[ObjectId, str]) -> None:
    """HTTP-5: the form leads back to the order."""
    order, suggestion_id = suggested
    client = await server.sign_in_as("owner")
    page = await client.post(f"/app/triage/suggestions/{suggestion_id}/dismiss", data=await _token(client))
    assert (page.status_code, page.headers["location"]) == (303, f"/app/work-orders/{order}")
    assert (await house.the(order))["dismissedBy"] == str((await house.person("owner")).id)


async def test_a_refused_decision_is_told_on_the_card(
    server: Server, house: House, suggested: tuple[ObjectId, str]
) -> None:
    """D-14: 409 with the card as it is."""
    order, suggestion_id = suggested
    client = await server.sign_in_as("owner")
    await client.post(f"/api/v1/triage/suggestions/{suggestion_id}/apply")
    await house.desk.orders.update(await house.actor(), order, 2, {"title": "Another title"})
    page = await client.post(f"/app/triage/suggestions/{suggestion_id}/undo", data=await _token(client), headers=_HTMX)
    assert page.status_code == 409
    assert "cannot be undone any more" in page.text


_HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}


async def _token(client: httpx.AsyncClient) -> dict[str, str]:
    return _token_in((await client.get("/app/work-orders")).text)


def _token_in(html: str) -> dict[str, str]:
    found = re.search(r'name="_csrf_token" value="([^"]+)"', html)
    assert found, html[:500]
    return {"_csrf_token": found[1]}
