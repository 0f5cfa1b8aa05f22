"""The page of the triage policy: every form works without a script (HTTP-5, AGT-8, AGT-9, D-11, D-18)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from app.core.mongo import Database
from app.llm.demo.scripted_model import ScriptedModel
from app.triage.policy_form import next_days
from tests.conftest import Server, ShiftedClock
from tests.triage.house import House, propose

PAGE = "/app/admin/agents"
PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}


@pytest.fixture
def house(server: Server, model: ScriptedModel, clock: ShiftedClock, database: Database) -> House:
    return House(server.desk, model, clock, database)


@pytest.fixture
async def dispatcher(server: Server) -> httpx.AsyncClient:
    return await server.sign_in_as("dispatcher")


def _words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


async def _post(
    client: httpx.AsyncClient, path: str, values: dict[str, str], headers: dict[str, str] | None = None
) -> Any:
    """A form as the page sends it: with the hidden fields that stand there now."""
    page = (await client.get(PAGE)).text
    hidden = {name: re.findall(rf'name="{name}" value="([^"]*)"', page)[0] for name in ("_csrf_token", "revision")}
    return await client.post(f"{PAGE}/{path}", data=hidden | values, headers=headers or {})


def _policy(**changes: str) -> dict[str, str]:
    return {
        "mode": "suggest",
        "apply_direction": "both",
        "flag_threshold": "high",
        "daily_action_cap": "200",
        "working_hours": "*",
        "may_write": "true",
    } | changes


async def test_the_policy_is_saved_and_the_change_stands_in_the_trail(
    house: House, dispatcher: httpx.AsyncClient
) -> None:
    """AGT-8, SEC-13."""
    wanted = _policy(mode="auto-apply", apply_direction="raise", daily_action_cap="50", working_hours="8-18")
    answer = await _post(dispatcher, "policy", wanted)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}?done=saved")
    policy = await house.desk.governance.triage_policy()
    assert (policy.mode, policy.apply_direction, policy.daily_action_cap) == ("auto-apply", "raise", 50)
    assert (policy.working_hours, policy.allowed_fields) == ("8-18", ["priority"])
    words = _words((await dispatcher.get(f"{PAGE}?done=saved")).text)
    assert "The policy is saved." in words
    assert "Ines Okafor changed the policy" in words
    assert "Calls a day from 200 to 50" in words
    await _post(dispatcher, "policy", {name: value for name, value in wanted.items() if name != "may_write"})
    assert (await house.desk.governance.triage_policy()).allowed_fields == []


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("working_hours", "9to5", "must be *, H-H in UTC"),
        ("daily_action_cap", "many", "Must be a whole number."),
        ("daily_action_cap", "-1", "Must be a whole number."),
        ("daily_action_cap", "10000000", "Must be at most 1000000."),
        ("mode", "yolo", "Must be"),
    ],
)
async def test_what_cannot_be_a_policy_is_told_at_its_field(
    house: House, dispatcher: httpx.AsyncClient, field: str, value: str, message: str
) -> None:
    """D-12, D-30: what was typed stays in the form, nothing is saved."""
    answer = await _post(dispatcher, "policy", _policy(**{field: value}))
    assert answer.status_code == 422
    assert message in re.search(rf'id="{field}-error".*?</p>', answer.text, re.S).group()  # type: ignore[union-attr]
    tried = await _post(dispatcher, "replay", _policy(**{field: value}), PARTIAL)
    assert (tried.status_code, message in tried.text) == (200, True)
    assert (await house.desk.governance.triage_policy()).revision == 0


async def test_a_form_over_an_older_policy_is_not_saved(house: House, dispatcher: httpx.AsyncClient) -> None:
    """Two dispatchers at once: the second is told, and keeps what was typed."""
    page = (await dispatcher.get(PAGE)).text
    token = re.findall(r'name="_csrf_token" value="([^"]*)"', page)[0]
    await dispatcher.patch("/api/v1/admin/agents/triage/config", json={"dailyActionCap": 7})
    stale = {"_csrf_token": token, "revision": "0"} | _policy(working_hours="8-18")
    answer = await dispatcher.post(f"{PAGE}/policy", data=stale)
    assert answer.status_code == 409
    assert ("was changed meanwhile" in answer.text, 'value="8-18"' in answer.text) == (True, True)
    assert (await house.desk.governance.triage_policy()).working_hours == "*"


async def test_a_policy_is_tried_before_it_is_saved(house: House, dispatcher: httpx.AsyncClient) -> None:
    """Contract, section 7: as a part of the page, and as the whole page without a script."""
    house.model.add(propose(suggestedPriority="high"))
    await house.order("Pump")
    await house.triage.claim_and_run()
    for headers in (PARTIAL, {}):
        answer = await _post(
            dispatcher, "replay", _policy(mode="auto-apply", working_hours="Tue-Thu 08:00-10:00 UTC"), headers
        )
        assert answer.status_code == 200
        words = _words(answer.text)
        assert "Applied by itself 0 1" in words
        assert "1 order with a suggestion on record" in words
        assert "08:00 to 10:00" in words
        assert ("<html" in answer.text) is (headers == {})
    assert "selected>Apply by itself" in answer.text
    assert (await house.desk.governance.triage_policy()).revision == 0


async def test_the_kill_switch_says_since_when_by_whom_and_how_many_wait(
    house: House, dispatcher: httpx.AsyncClient
) -> None:
    """AGT-9, D-11, D-18."""
    await house.order("First")
    answer = await _post(dispatcher, "switch", {"scope": "triage", "on": "false"})
    assert answer.headers["location"] == f"{PAGE}?done=off"
    await house.triage.let_go()
    words = _words((await dispatcher.get(PAGE)).text)
    assert "Triage is off switched off just now by Ines Okafor" in words
    assert "Copilot is on never switched off" in words
    assert "1 Triage is switched off; this waits." in words
    await _post(dispatcher, "switch", {"scope": "all", "on": "false"})
    assert "Copilot is off" in _words((await dispatcher.get(PAGE)).text)
    await _post(dispatcher, "switch", {"scope": "all", "on": "true"})
    policy = await house.desk.governance.triage_policy()
    assert (policy.enabled, policy.copilot_enabled) == (True, True)
    assert (await _post(dispatcher, "switch", {"scope": "all", "on": "maybe"})).status_code in (400, 422)
    assert (await _post(dispatcher, "switch", {"scope": "everything", "on": "true"})).status_code in (400, 422)


async def test_spend_failures_and_agreement_are_told_and_a_failure_is_tried_again(
    house: House, dispatcher: httpx.AsyncClient
) -> None:
    """AGT-5, D-10, D-13, D-30."""
    house.model.add(propose(suggestedPriority="high"))
    kept = await house.order("Pump")
    await house.triage.claim_and_run()
    await house.suggestions.apply(await house.actor("dispatcher"), (await house.the(kept))["_id"])
    bad = await house.order("Broken intercom")
    failed = {"status": "failed", "attempts": 3, "lastError": "The AI service did not answer (timeout)."}
    await house.database["outboxevents"].update_one({"payloadRef": str(bad)}, {"$set": failed})
    page = (await dispatcher.get(PAGE)).text
    words = _words(page)
    assert "1 of 200" in words
    assert "100 % of 1 decided" in words
    assert "Broken intercom The AI service did not answer (timeout)." in words
    event = (await house.event(bad))["_id"]
    answer = await _post(dispatcher, f"outbox/{event}/retry", {})
    assert answer.headers["location"] == f"{PAGE}?done=retried"
    assert (await house.event(bad))["status"] == "pending"
    assert (await _post(dispatcher, f"outbox/{event}/retry", {})).status_code == 409


async def test_the_page_renews_itself_in_parts(house: House, dispatcher: httpx.AsyncClient) -> None:
    """HTTP-5: what is typed in the form is never touched; without htmx the address leads to the page."""
    live = await dispatcher.get(f"{PAGE}/live", headers=PARTIAL)
    assert live.text.count("<hx-partial") == 2
    assert "policy-form" not in live.text
    assert (await dispatcher.get(f"{PAGE}/live")).headers["location"] == PAGE


async def test_the_drawer_says_that_a_dispatcher_switched_everything_off(server: Server, house: House) -> None:
    """D-18: on every page of every person, and on again afterwards."""
    owner = await server.sign_in_as("owner")
    await house.desk.governance.switch(await house.actor("dispatcher"), "all", on=False)
    assert "Switched off by a dispatcher" in (await owner.get("/app/copilot")).text


class TestWithoutAi:
    @pytest.fixture
    def overrides(self) -> dict[str, Any]:
        return {"ai_enabled": False}

    async def test_the_page_says_that_ai_is_off_and_works(self, dispatcher: httpx.AsyncClient) -> None:
        """D-22."""
        answer = await dispatcher.get(PAGE)
        assert (answer.status_code, "AI is not switched on for this desk" in answer.text) == (200, True)
        assert (await _post(dispatcher, "policy", _policy(daily_action_cap="9"))).status_code == 303


def test_the_next_seven_days_are_told_day_by_day() -> None:
    """D-12: cut at now, at midnight UTC and at the end."""
    now = datetime(2026, 11, 27, 10, 30, tzinfo=UTC)  # a Friday
    days = next_days("Mon-Fri 09:00-18:00 Europe/Berlin; Sat 22:00-02:00 UTC", now)
    told = [[f"{since:%H:%M}-{until:%H:%M}" for since, until in day.openings] for day in days]
    week = ["08:00-17:00"]
    assert told == [["10:30-17:00"], ["22:00-00:00"], ["00:00-02:00"], week, week, week, week]
    assert [day.day.day for day in days] == [27, 28, 29, 30, 1, 2, 3]
