"""The desk with less: AI switched off, or no JavaScript at all (D-22, HTTP-5)."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, Page, expect

from tests.conftest import Server
from tests.e2e.conftest import SignedInPage
from tests.e2e.steps import Size, at_both_sizes, create_order, fits, make_orders, property_is


@at_both_sizes
@pytest.mark.parametrize("overrides", [pytest.param({"ai_enabled": False}, id="AI off")])
async def test_without_ai_the_drawer_says_so_and_everything_else_works(page_of: SignedInPage, size: Size) -> None:
    """D-22"""
    async with page_of("owner", **size) as page:
        await page.locator("[data-copilot-toggle]:visible").first.click()
        drawer = page.get_by_role("complementary", name="Copilot")
        await expect(drawer.get_by_role("heading", name="The copilot is off")).to_be_visible()
        await expect(drawer.get_by_text("A dispatcher can turn it on.")).to_be_visible()
        await fits(page)
        await drawer.get_by_role("button", name="Close the copilot").click()
        await expect(drawer).to_be_hidden()
        await create_order(page, "Works without AI")


@pytest.mark.parametrize("overrides", [pytest.param({"ai_enabled": False}, id="AI off")])
async def test_a_dispatcher_is_told_how_to_turn_ai_on(page_of: SignedInPage) -> None:
    """D-22"""
    async with page_of("dispatcher") as page:
        await page.goto("/app/copilot")
        await expect(page.get_by_text("AI_ENABLED=true")).to_be_visible()


@at_both_sizes
async def test_work_orders_are_written_edited_and_deleted_without_javascript(page_of: SignedInPage, size: Size) -> None:
    """HTTP-5"""
    async with page_of("owner", java_script_enabled=False, **size) as page:
        await create_order(page, "Door closer bent")
        await page.get_by_role("link", name="Edit").click()
        await page.get_by_label("Priority").select_option("high")
        await page.get_by_role("button", name="Save changes").click()
        await property_is(page, "Version", "2")
        await page.goto("/app/work-orders")
        await page.get_by_label("Filter").get_by_role("link", name="High").click()
        await page.get_by_role("link", name="Door closer bent").click()
        await page.get_by_role("button", name="Delete this work order").click()
        await expect(page.get_by_role("heading", name="Your work orders will be here")).to_be_visible()


@at_both_sizes
async def test_the_copilot_is_asked_and_its_change_approved_without_javascript(
    server: Server, page_of: SignedInPage, size: Size
) -> None:
    """HTTP-5, COP-7: as plain pages."""
    [order_id] = await make_orders(server, "Door closer bent")
    async with page_of("owner", java_script_enabled=False, **size) as page:
        await page.locator("[data-copilot-toggle]:visible").first.click()
        await page.get_by_label("Message to the copilot").fill("set the door order to high priority")
        await page.get_by_role("button", name="Send").click()
        told = page.locator("noscript a[href='/app/approvals']")
        await _reload_until(page, told)
        await told.click()
        await page.get_by_role("link", name="Review", exact=True).click()
        await expect(page.get_by_role("heading", name="Change this work order?")).to_be_visible()
        await expect(page.get_by_role("row").filter(has_text="Priority").locator("ins")).to_contain_text("High")
        await page.get_by_role("button", name="Approve change").click()
        await page.wait_for_url("**/app/approvals")
        await page.goto("/app/copilot")
        await _reload_until(page, page.get_by_text("priority is now high"))
        await page.goto(f"/app/work-orders/{order_id}")
        await property_is(page, "Version", "2")
        await page.get_by_role("region", name="History").get_by_role("button", name="Undo").click()
        await property_is(page, "Version", "3")


async def _reload_until(page: Page, wanted: Locator) -> None:
    """A plain page shows what is new when it is loaded again."""
    for _ in range(100):
        if await wanted.count():
            return
        await page.reload()
    raise AssertionError(f"never seen: {wanted}")
