"""The dispatcher's stories of triage: policy, kill switch, attention, dead letters, a run (issue 5.6, 5.7)."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from app.core.mongo import Database
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server, ShiftedClock
from tests.e2e.conftest import SignedInPage
from tests.e2e.steps import DESK, SLOW_MS, Size, at_both_sizes, fits
from tests.triage.house import House, propose

AGENTS = "/app/admin/agents"


@pytest.fixture
def house(server: Server, model: ScriptedModel, clock: ShiftedClock, database: Database) -> House:
    return House(server.desk, model, clock, database)


async def _triaged(house: House, title: str) -> str:
    house.model.add(propose(suggestedPriority="high", summary=f"{title}: it grows.", flagForDispatcher=True))
    order = await house.order(title, priority="low")
    await house.triage.claim_and_run()
    return str(order)


@at_both_sizes
async def test_a_policy_is_tried_as_it_is_typed_and_then_saved(page_of: SignedInPage, house: House, size: Size) -> None:
    """Contract, section 7, AGT-8: what it would have done stands beside the form before it is saved."""
    await _triaged(house, "Pump leaks")
    async with page_of("dispatcher", **size) as page:
        await page.goto(AGENTS)
        await page.get_by_label("Mode", exact=True).select_option("auto-apply")
        effect = page.locator("#replay").get_by_role("row").filter(has_text="Applied by itself")
        await expect(effect.get_by_role("cell").last).to_contain_text("1", timeout=SLOW_MS)
        await page.get_by_label("Working hours", exact=True).fill("Mon-Fri 08:00-18:00 Europe/Berlin")
        await page.get_by_label("Model calls a day").fill("50")
        await expect(page.locator("#replay").get_by_text("closed").first).to_be_visible(timeout=SLOW_MS)
        await fits(page)
        await page.get_by_role("button", name="Save policy").click()
        await expect(page.get_by_text("The policy is saved.").first).to_be_attached()
        await expect(page.get_by_label("Mode", exact=True)).to_have_value("auto-apply")
        trail = page.get_by_role("region", name="Audit trail")
        await expect(trail.get_by_text("changed the policy")).to_be_visible()
    policy = await house.desk.governance.triage_policy()
    assert (policy.mode, policy.daily_action_cap) == ("auto-apply", 50)


@at_both_sizes
async def test_the_kill_switch_asks_once_and_holds_and_the_page_follows(
    page_of: SignedInPage, house: House, size: Size
) -> None:
    """AGT-9, D-18: the page renews itself under a form that is being typed into."""
    await house.order("Waits")
    async with page_of("dispatcher", **size) as page:
        await page.goto(AGENTS)
        await page.get_by_role("button", name="Switch off triage").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Switch off triage").click()
        await expect(page.get_by_text("Triage is off")).to_be_visible()
        assert await house.triage.run_next() is None
        hours = page.get_by_label("Working hours", exact=True)
        await hours.fill("8-1")
        await house.triage.let_go()
        await expect(page.get_by_text("Triage is switched off; this waits.")).to_be_visible(timeout=SLOW_MS)
        await expect(hours).to_have_value("8-1")
        await expect(hours).to_be_focused()
        await page.get_by_role("button", name="Switch on triage").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Switch on triage").click()
        await expect(page.get_by_text("Triage is on")).to_be_visible()


@at_both_sizes
async def test_what_needs_attention_goes_when_it_is_applied(page_of: SignedInPage, house: House, size: Size) -> None:
    """AGT-6, D-15: on the page of all orders, and the row below follows."""
    await _triaged(house, "Pump leaks")
    order = await _triaged(house, "Gas smell near boiler 2")
    async with page_of("dispatcher", **size) as page:
        await page.goto("/app/admin/work-orders")
        items = page.locator("#attention li")
        await expect(items).to_have_count(2)
        await expect(items.first).to_contain_text("Gas smell near boiler 2")
        await page.get_by_role("button", name="Apply: Gas smell near boiler 2").click()
        await expect(items).to_have_count(1)
        await expect(page.locator(f"#order-{order} .priority-high")).to_be_visible()
        await page.get_by_role("button", name="Dismiss: Pump leaks").click()
        await expect(items).to_have_count(0)
        await fits(page)


async def test_a_priority_that_triage_applied_is_undone_by_a_dispatcher(page_of: SignedInPage, house: House) -> None:
    """D-14: one click, from the attention list; the order is as it was."""
    await house.policy(mode="auto-apply")
    order = await _triaged(house, "Pump leaks")
    async with page_of("dispatcher", **DESK) as page:
        await page.goto("/app/admin/attention")
        await expect(page.locator("#attention li")).to_contain_text("set by triage")
        await page.get_by_role("button", name="Undo: Pump leaks").click()
        await expect(page.locator("#attention li")).to_have_count(0)
        await page.goto(f"/app/work-orders/{order}")
        await expect(page.locator("#suggestion").get_by_text("Taken back by Ines Okafor")).to_be_visible()
        await expect(page.get_by_label("About this work order").locator("dd .priority-low")).to_be_visible()


async def test_a_dead_letter_is_tried_again(page_of: SignedInPage, house: House) -> None:
    """AGT-5, D-30: with its reason; once retried it is gone from the list."""
    order = await house.order("Broken intercom")
    failed = {"status": "failed", "attempts": 3, "lastError": "The AI service did not answer (timeout)."}
    await house.database["outboxevents"].update_one({"payloadRef": str(order)}, {"$set": failed})
    async with page_of("dispatcher", **DESK) as page:
        await page.goto(AGENTS)
        letters = page.get_by_role("region", name="Failed for good")
        await expect(letters.get_by_text("The AI service did not answer (timeout).")).to_be_visible()
        await letters.get_by_role("button", name="Try again: Broken intercom").click()
        await expect(letters.get_by_text("Nothing has.")).to_be_visible()
    assert (await house.event(order))["status"] == "pending"


@at_both_sizes
async def test_a_run_is_found_and_its_view_is_on_record(page_of: SignedInPage, house: House, size: Size) -> None:
    """AGT-8, D-20: filtered, opened; the page says so and the trail shows it."""
    await _triaged(house, "Pump leaks")
    async with page_of("dispatcher", **size) as page:
        await page.goto(f"{AGENTS}/runs")
        await page.get_by_role("link", name="Triage", exact=True).click()
        await expect(page).to_have_url(f"{page.url.split('/app')[0]}{AGENTS}/runs?mode=autonomous")
        await _open_first(page)
        await expect(page.get_by_text("is on record (audit row 1)")).to_be_visible()
        await expect(page.get_by_text("triage_propose")).to_be_visible()
        await fits(page)
        await page.goto(AGENTS)
        await expect(page.get_by_text("looked at a transcript")).to_be_visible()


async def _open_first(page: Page) -> None:
    await page.locator("#agent-runs .row-link").first.click()
    await expect(page.get_by_role("heading", name="Pump leaks")).to_be_visible()
