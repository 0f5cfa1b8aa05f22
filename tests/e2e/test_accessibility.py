"""Every page in both schemes and at both widths, checked by axe; so too the drawer and the modal."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Page, expect

from tests.conftest import Server
from tests.e2e.axe import check, in_each_look
from tests.e2e.conftest import OpenedPage, SignedInPage
from tests.e2e.steps import SLOW_MS, ask, ask_for_a_change, conversation, fits, make_orders, open_copilot

SIGNED_OUT = ["/", "/login", "/register", "/forgot-password", "/reset-password?token=none", "/no-such-page"]
OWN = ["/app/work-orders", "/app/work-orders/new", "/app/profile", "/app/copilot", "/app/approvals", "/app/runs"]
DISPATCH = [
    "/app/admin",
    "/app/admin/work-orders",
    "/app/admin/metrics",
    "/app/admin/agents",
    "/app/admin/agents/runs",
    "/app/admin/tools",
    "/app/admin/review",
]


@in_each_look
async def test_signed_out_pages_have_no_serious_issue(new_page: OpenedPage, look: dict[str, Any]) -> None:
    """HTTP-5, WCAG 2.2 AA"""
    async with new_page(refused=404, **look) as page:
        await _check_each(page, SIGNED_OUT)


@in_each_look
async def test_the_dispatcher_s_pages_have_no_serious_issue(
    server: Server, page_of: SignedInPage, look: dict[str, Any]
) -> None:
    """HTTP-5, WCAG 2.2 AA"""
    await make_orders(server, "Pump 3 leaks", "Gate motor hums", description="Since Monday.", priority="high")
    async with page_of("dispatcher", **look) as page:
        await open_copilot(page)
        await ask(page, "how many users are there?")
        await expect(conversation(page)).to_have_attribute("aria-busy", "false", timeout=SLOW_MS)
        await page.get_by_role("button", name="Close the copilot").click()
        await _check_each(page, DISPATCH)
        await page.goto("/app/admin/agents/runs")
        await page.locator(".row-link").first.click()
        await expect(page.get_by_label("Transcript")).to_be_visible()
        await check(page, "a run, as the dispatcher reads it")


@in_each_look
async def test_a_technician_s_pages_drawer_and_modal_have_no_serious_issue(
    server: Server, page_of: SignedInPage, look: dict[str, Any]
) -> None:
    """HTTP-5, COP-7, WCAG 2.2 AA: with a change that waits, and after it was approved."""
    [order_id] = await make_orders(server, "Pump 3 leaks", description="Since Monday.", priority="low")
    order = f"/app/work-orders/{order_id}"
    async with page_of("owner", **look) as page:
        await page.goto(order)
        modal = await ask_for_a_change(page, "set the pump order to high priority")
        await expect(modal.get_by_role("button", name="Approve change")).to_be_enabled()
        await check(page, "the modal")
        await modal.get_by_text("Reject…").click()
        await check(page, "the modal, asking for a reason")
        await modal.get_by_role("button", name="Later").click()
        await check(page, "the drawer with a change that waits")
        await page.get_by_role("button", name="Close the copilot").click()
        await _check_each(page, [*OWN, order, f"{order}?edit=1"])
        await page.goto("/app/approvals")
        await page.get_by_role("link", name="Review", exact=True).click()
        await modal.get_by_role("button", name="Approve change").click()
        await expect(page.locator("#approvals").get_by_text("Nothing awaits you")).to_be_visible(timeout=SLOW_MS)
        await check(page, "decided approvals")
        await open_copilot(page)
        await expect(conversation(page).locator(".tool-executed.tool-write")).to_be_visible(timeout=SLOW_MS)
        await check(page, "the drawer after a change")
        await page.get_by_role("button", name="Close the copilot").click()
        await page.goto("/app/runs")
        await page.locator(".row-link").first.click()
        await expect(page.get_by_label("Transcript")).to_be_visible()
        await check(page, "a run")


async def _check_each(page: Page, addresses: list[str]) -> None:
    for address in addresses:
        await page.goto(address)
        await check(page, address)
        await fits(page)
