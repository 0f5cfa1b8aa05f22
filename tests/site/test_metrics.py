"""The desk in numbers, as JSON and on the dispatcher's page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Server

METRICS = "/api/v1/admin/metrics"


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_enabled": False}


async def test_the_dispatcher_sees_the_desk_in_numbers(server: Server) -> None:
    """ADM-5: people and live orders; deleted ones do not count."""
    owner, dispatcher = await server.sign_in_as("owner"), await server.sign_in_as("dispatcher")
    made = [await owner.post("/api/v1/work-orders", json={"title": f"Pump {number}"}) for number in range(3)]
    gone = made[0].json()["data"]["id"]
    await owner.request("DELETE", f"/api/v1/work-orders/{gone}", json={"version": 1})
    answer = await dispatcher.get(METRICS)
    data = answer.json()["data"]
    assert (answer.status_code, set(data)) == (200, {"users", "workOrders", "uptimeSeconds"})
    assert (data["users"], data["workOrders"]) == (2, 2)
    assert 0 <= data["uptimeSeconds"] < 120


@pytest.mark.parametrize(("who", "status"), [("owner", 403), ("viewer", 403), (None, 401)])
async def test_nobody_else_sees_them(server: Server, who: str | None, status: int) -> None:
    """ADM-5"""
    client = await server.sign_in_as(who) if who else await server.client()
    assert (await client.get(METRICS)).status_code == status
    assert (await client.get("/app/admin/metrics")).status_code == (303 if status == 401 else 403)


async def test_the_page_of_people_asks_for_the_numbers_and_they_are_a_page_too(server: Server) -> None:
    """ADM-5, HTTP-5: a fragment for htmx, a page without JavaScript."""
    dispatcher = await server.sign_in_as("dispatcher")
    assert 'hx-get="/app/admin/metrics"' in (await dispatcher.get("/app/admin")).text
    part = await dispatcher.get("/app/admin/metrics", headers={"HX-Request": "true", "HX-Request-Type": "partial"})
    assert part.text.startswith("1 person · 0 work orders · this process has run for ")
    assert "<h1>The desk in numbers</h1>" in (await dispatcher.get("/app/admin/metrics")).text
