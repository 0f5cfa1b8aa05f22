"""An approval that waits, seen from a browser: time, other windows, reloads, and the keyboard (COP-7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Locator, Page, expect

from tests.conftest import CAST, Server
from tests.e2e.conftest import OpenedPage, SignedInPage
from tests.e2e.steps import (
    DESK,
    SLOW_MS,
    Size,
    ask_for_a_change,
    at_both_sizes,
    conversation,
    fits,
    make_orders,
    open_copilot,
    property_is,
    proposed,
)

SHORT_LIFE = pytest.mark.parametrize(
    "overrides", [pytest.param({"ai_approval_ttl_ms": 4_000, "agent_sweep_interval_ms": 1_000}, id="4 s")]
)


@SHORT_LIFE
@at_both_sizes
async def test_time_runs_out_while_one_watches(server: Server, page_of: SignedInPage, size: Size) -> None:
    """D-6, SEC-7, scenario 2.8: it counts down, then says that time ran out, and nothing was changed."""
    [order_id] = await make_orders(server, "Pump 3 leaks")
    async with page_of("owner", **size) as page:
        await page.goto(f"/app/work-orders/{order_id}")
        modal = await ask_for_a_change(page, "set the pump order to high priority")
        await expect(modal.locator(".count")).to_have_text("0:02")
        await _says_time_ran_out(page, modal)
        await fits(page)
        await modal.get_by_role("button", name="Close").click()
        await expect(modal).to_be_hidden()
        await property_is(page, "Version", "1")


@SHORT_LIFE
@pytest.mark.parametrize("minutes", [10, -10])
async def test_a_browser_clock_that_is_ten_minutes_off_changes_nothing(
    server: Server, page_of: SignedInPage, minutes: int
) -> None:
    """D-6: the time left is the server's."""
    await make_orders(server, "Pump 3 leaks")
    async with page_of("owner", **DESK) as page:
        await page.clock.install(time=datetime.now(UTC) + timedelta(minutes=minutes))
        await page.goto("/app/work-orders")
        modal = await ask_for_a_change(page, "set the pump order to high priority")
        await expect(modal.locator(".count")).to_have_text("0:02")
        await expect(modal.get_by_role("button", name="Approve change")).to_be_enabled()
        await _says_time_ran_out(page, modal)


@at_both_sizes
async def test_a_decision_in_one_window_is_seen_in_the_other(server: Server, page_of: SignedInPage, size: Size) -> None:
    """COP-7, D-2, scenario 1.7: card and modal of the other window say what was decided."""
    await make_orders(server, "Pump 3 leaks")
    async with page_of("owner", **size) as first:
        modal = await ask_for_a_change(first, "set the pump order to high priority")
        second = await first.context.new_page()
        await second.goto("/app/work-orders")
        await open_copilot(second)
        theirs = await proposed(second)
        await modal.get_by_role("button", name="Approve change").click()
        await expect(modal).to_be_hidden()
        await expect(theirs).to_contain_text("Approved and done.", timeout=SLOW_MS)
        await expect(theirs.get_by_role("button", name="Approve change")).to_have_count(0)
        await theirs.get_by_role("button", name="Close").click()
        for window in (first, second):
            await expect(conversation(window).locator(".tool-executed.tool-write")).to_be_visible()
            await expect(window.locator(".awaiting .pending-count")).to_have_text("")


async def test_later_is_later_also_after_a_reload_and_review_brings_it_back(
    server: Server, page_of: SignedInPage
) -> None:
    """COP-7, scenario 2.1: put off, it does not jump at one again; it waits in the drawer with its count."""
    await make_orders(server, "Pump 3 leaks")
    async with page_of("owner", **DESK) as page:
        modal = await ask_for_a_change(page, "set the pump order to high priority")
        await modal.get_by_role("button", name="Later").click()
        await page.reload()
        review = conversation(page).get_by_role("link", name="Review change")
        await expect(review).to_be_visible()
        await expect(modal).to_be_hidden()
        await expect(page.locator("a.awaiting .pending-count")).to_have_text("1")
        await review.click()
        await modal.get_by_role("button", name="Approve change").click()
        await expect(conversation(page).locator(".tool-executed.tool-write")).to_be_visible(timeout=SLOW_MS)
        await expect(page.locator("a.awaiting .pending-count")).to_have_text("")


async def test_the_keyboard_alone_leads_from_sign_in_to_an_approved_change(
    server: Server, new_page: OpenedPage
) -> None:
    """COP-7, HTTP-5: Tab, Enter, Space and the shortcuts; Enter alone never approves."""
    [order_id] = await make_orders(server, "Pump 3 leaks")
    async with new_page(**DESK) as page:
        await page.goto("/login")
        await expect(page.get_by_label("E-mail address")).to_be_focused()
        await page.keyboard.type(CAST["owner"][0])
        await page.keyboard.press("Tab")
        await page.keyboard.type(CAST["owner"][1])
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/app/work-orders")
        await _tab_to(page, page.get_by_role("link", name="Pump 3 leaks"))
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/app/work-orders/{order_id}")
        await page.keyboard.press("Control+k")
        await expect(page.get_by_label("Message to the copilot")).to_be_focused()
        await page.keyboard.type("raise its priority to high")
        await page.keyboard.press("Enter")
        modal = await proposed(page)
        await expect(modal.get_by_role("heading", name="Change this work order?")).to_be_focused()
        approve = modal.get_by_role("button", name="Approve change")
        await expect(approve).to_be_enabled()
        await _tab_to(page, approve)
        await page.keyboard.press("Enter")
        await expect(modal.get_by_text("Press Space to approve.")).to_be_attached()
        await page.keyboard.press("Space")
        await expect(modal).to_be_hidden()
        await property_is(page, "Priority", "High")
        await expect(page.get_by_label("Message to the copilot")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.get_by_label("Message to the copilot")).to_be_hidden()


async def test_what_waits_can_be_extended_with_one_press(server: Server, page_of: SignedInPage) -> None:
    """D-30, COP-7, scenario 2.2"""
    await make_orders(server, "Pump 3 leaks")
    async with page_of("owner", **DESK) as page:
        modal = await ask_for_a_change(page, "set the pump order to high priority")
        await expect(modal.locator(".count")).to_have_text("9:58")
        await modal.get_by_role("button", name="extend").click()
        await expect(modal.locator(".count")).to_contain_text("19:")
        await modal.get_by_role("button", name="Later").click()
        await _nothing_more_is_asked(page)


async def _nothing_more_is_asked(page: Page) -> None:
    """While it waits, the box says so and Send is not offered."""
    await expect(page.get_by_role("button", name="Send")).to_be_hidden()
    await expect(page.get_by_label("Message to the copilot")).to_have_attribute(
        "placeholder", "Decide on the change above first"
    )


async def _says_time_ran_out(page: Page, modal: Locator) -> None:
    await expect(modal).to_contain_text("Time ran out. Nothing was changed", timeout=SLOW_MS)
    await expect(modal.get_by_role("button", name="Approve change")).to_have_count(0)
    await expect(conversation(page).locator(".tool-expired")).to_contain_text("Time ran out")


async def _tab_to(page: Page, wanted: Locator) -> None:
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("Tab does not lead there")
