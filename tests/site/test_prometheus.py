"""`GET /metrics`: what agents do in numbers, for those who may scrape (issue 5.10)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from app.core.settings import SettingsError, load_settings
from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.talk import open_session, say_to
from tests.triage.house import House, propose

TOKEN = "a-token-for-scraping"


async def _scrape(client: httpx.AsyncClient, **headers: str) -> dict[tuple[str, ...], float]:
    answer = await client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found[sample.name, *sorted(sample.labels.values())] = sample.value
    return found


async def test_runs_calls_tokens_spend_approvals_and_the_outbox_are_told(
    server: Server, model: ScriptedModel, database: Any, clock: Any
) -> None:
    """Issue 5.10: read from the database, so a worker elsewhere counts too."""
    house = House(server.desk, model, clock, database)
    model.add(propose())
    order = await house.order()
    await house.order("Another")
    await house.triage.run_next()
    owner = await server.sign_in_as("owner")
    session = await open_session(owner)
    model.add(call("made_up_tool", {}), call("create_work_order", {"title": "New pump"}), say("Done."))
    async with say_to(owner, session, "Create an order") as turn:
        asked = await turn.until("tool_approval_required")
        house.later(seconds=20)
        await owner.post(f"/api/v1/ai/tool-calls/{asked.data['toolCallId']}/decide", json={"approve": True})
        await turn.to_the_end()
    found = await _scrape(await server.client())
    assert found["desk_runs_total", "autonomous", "complete"] == 1
    assert found["desk_runs_total", "complete", "copilot"] == 1
    assert found["desk_tool_calls_total", "executed", "triage_propose"] == 1
    assert found["desk_tool_calls_total", "error", "unknown"] == 1
    assert found["desk_tokens_total", "autonomous", "input"] > 0
    assert found["desk_spend_usd", "all"] > found["desk_spend_usd", "triage"] > 0
    assert found["desk_provider_calls_total", "triage"] == 1
    assert found["desk_approvals_total", "approved"] == 1
    assert found["desk_approval_seconds_bucket", "15.0"] == 0
    assert found["desk_approval_seconds_bucket", "30.0"] == 1
    assert 20 <= found["desk_approval_seconds_sum",] < 30
    assert found["desk_outbox_events", "", "pending"] == 2
    assert found["desk_outbox_oldest_due_seconds",] >= 20
    assert (found["desk_outbox_claims",], found["desk_outbox_retries",]) == (1, 0)
    await database["outboxevents"].update_one({"payloadRef": str(order)}, {"$set": {"status": "failed"}})
    assert (await _scrape(await server.client()))["desk_outbox_dead_letters",] == 1


async def test_without_a_token_only_this_machine_may_look(server: Server) -> None:
    """Issue 5.10: what a proxy forwards comes from elsewhere."""
    client = await server.client()
    assert (await client.get("/metrics")).status_code == 200
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        assert (await client.get("/metrics", headers={header: "127.0.0.1"})).status_code == 404


class TestWithAToken:
    @pytest.fixture
    def overrides(self) -> dict[str, Any]:
        return {"metrics_token": SecretStr(TOKEN)}

    async def test_the_token_opens_from_anywhere_and_nothing_else_does(self, server: Server) -> None:
        """Issue 5.10."""
        client = await server.client()
        await _scrape(client, Authorization=f"Bearer {TOKEN}", **{"X-Forwarded-For": "203.0.113.7"})
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            assert (await client.get("/metrics", headers=given)).status_code == 404


def test_a_weak_token_is_refused_without_being_shown() -> None:
    """Contract, "Environment"."""
    with pytest.raises(SettingsError) as refused:
        load_settings(_env_file=None, metrics_token=SecretStr("short"))
    assert refused.value.lines == ["METRICS_TOKEN: must be at least 16 printable ASCII characters without a space"]
