"""A database that the original desk filled opens as a whole, and loses nothing by being used."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from app.core.mongo import Database
from tests.conftest import Server
from tests.wire.replay import stored_rows

PASSWORDS = {
    "admin@example.com": "Admin1234",
    "user@example.com": "User1234",
    "viewer@example.com": "Viewer1234",
    "new.person@example.com": "N3wPassword",
}
OWNER = "new.person@example.com"
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def rows() -> Rows:
    """As recorded, but that no person has `aiEnabled`, and everything carries a field that nobody knows."""
    found = stored_rows(datetime.now(UTC))
    for user in found["users"]:
        del user["aiEnabled"]
    return {name: [row | {"ofAnOlderDesk": {"kept": [1, 2]}} for row in rows] for name, rows in found.items()}


@pytest.fixture
async def database(database: Database, rows: Rows) -> Database:
    """The tests' database, filled before the desk opens it."""
    for name, documents in rows.items():
        await database[name].insert_many(documents)
    return database


async def _sign_in(server: Server, email: str) -> httpx.AsyncClient:
    client = await server.client()
    answer = await client.post("/api/v1/auth/login", json={"email": email, "password": PASSWORDS[email]})
    assert answer.status_code == 200, answer.text
    return client


async def _get(client: httpx.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.json()["data"]


async def _pages_render(client: httpx.AsyncClient, *paths: str) -> None:
    for path in paths:
        answer = await client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"


async def test_its_people_sign_in_and_find_their_orders_sessions_and_runs(server: Server, rows: Rows) -> None:
    """DATA-2, AUTH-12, WO-5, COP-1, D-30: old runs have no `startedAt`, `createdAt` serves; arguments may be text."""
    for email in PASSWORDS:
        await _sign_in(server, email)
    owner = await _sign_in(server, OWNER)
    orders = (await _get(owner, "/api/v1/work-orders"))["items"]
    assert {one["id"] for one in orders} == {str(row["_id"]) for row in rows["workorders"] if not row["deletedAt"]}
    assert [one["id"] for one in await _get(owner, "/api/v1/ai/sessions")] == [
        str(row["_id"]) for row in rows["copilotsessions"]
    ]
    runs = await _get(owner, "/api/v1/ai/runs")
    own = [row for row in rows["agentruns"] if row["mode"] == "copilot"]
    assert runs["total"] == len(own)
    assert all(run["startedAt"] for run in runs["items"])
    for row in own:
        await _run_is_whole(owner, row, rows)
    await _pages_render(owner, "/app/work-orders", "/app/runs", "/app/approvals", "/app/copilot")


async def _run_is_whole(client: httpx.AsyncClient, run: dict[str, Any], rows: Rows) -> None:
    """Detail and page show every message and call that was recorded of `run`."""
    detail = await _get(client, f"/api/v1/ai/runs/{run['_id']}")
    for shown, collection in (("messages", "agentmessages"), ("toolCalls", "agenttoolcalls")):
        recorded = {str(row["_id"]) for row in rows[collection] if row["runId"] == run["_id"]}
        assert {one["id"] for one in detail[shown]} == recorded
    await _pages_render(client, f"/app/runs/{run['_id']}")


async def test_its_suggestion_policy_and_switch_are_found(server: Server, rows: Rows) -> None:
    """AGT-3, AGT-4, D-18, D-30: what the old policy lacks has its first value; what it has stays."""
    owner, admin = await _sign_in(server, OWNER), await _sign_in(server, "admin@example.com")
    suggestion = rows["triagesuggestions"][0]
    found = await _get(owner, f"/api/v1/work-orders/{suggestion['workOrderId']}/suggestions")
    assert [one["id"] for one in found] == [str(suggestion["_id"])]
    policy = await _get(admin, "/api/v1/admin/agents/triage")
    assert (policy["mode"], policy["enabled"], policy["dailyActionCap"]) == ("auto-apply", False, 50)
    await _pages_render(admin, "/app/admin", "/app/admin/work-orders")


async def test_its_waiting_events_are_taken_up(server: Server) -> None:
    """AGT-2, D-11, D-18: they wait while the switch of the old desk is off, and none is lost."""
    assert len(await server.desk.outbox.claim(10, 15_000)) == 4


async def test_using_it_loses_no_field(server: Server, database: Database, rows: Rows) -> None:
    """DATA-2: signing in, reading, editing, a claim and a change of the policy leave what they do not concern."""
    owner, admin = await _sign_in(server, OWNER), await _sign_in(server, "admin@example.com")
    order = next(row for row in rows["workorders"] if not row["deletedAt"])
    edit = {"version": order["version"], "status": "done"}
    assert (await owner.patch(f"/api/v1/work-orders/{order['_id']}", json=edit)).status_code == 200
    assert (await owner.patch("/api/v1/users/me", json={"name": "Renamed again"})).status_code == 200
    assert (await admin.post("/api/v1/admin/agents/enable", json={})).status_code == 200
    await server.desk.outbox.claim(10, 15_000)
    for name, recorded in rows.items():
        for row in recorded:
            stored = await database[name].find_one({"_id": row["_id"]})
            assert stored is not None, name
            assert stored.keys() >= row.keys(), name
            assert stored["ofAnOlderDesk"] == {"kept": [1, 2]}, name
