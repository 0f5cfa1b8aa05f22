"""The whole story in a browser: what a newcomer sees in the first minutes."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, expect

from tests.conftest import Server
from tests.e2e.conftest import SignedInPage
from tests.worker.processes import worker_process

SLOW_MS = 20_000


async def test_from_a_new_order_to_its_triage_and_an_approved_change(
    server: Server, page_of: SignedInPage, tmp_path: Path
) -> None:
    """HTTP-5, AGT-6, COP-7: sign in, create, suggestion, Ctrl+K, modal with before and after, Approve, version 2."""
    with worker_process(server.settings, tmp_path):
        async with page_of("owner", viewport={"width": 1280, "height": 820}) as page:
            await _create_order(page, "Gas smell near boiler 2", "Strong smell at the valve, windows opened.")
            suggestion = page.locator("#suggestion")
            await expect(suggestion.get_by_text("High", exact=True)).to_be_visible(timeout=SLOW_MS)

            await page.keyboard.press("Control+k")
            await page.get_by_label("Message to the copilot").fill("raise its priority to high")
            await page.keyboard.press("Enter")
            modal = page.get_by_role("dialog", name="Change this work order?")
            await expect(modal).to_be_visible(timeout=SLOW_MS)
            row = modal.get_by_role("row").filter(has_text="Priority")
            await expect(row.locator("del")).to_contain_text("Medium")
            await expect(row.locator("ins")).to_contain_text("High")

            approve = modal.get_by_role("button", name="Approve change")
            await expect(approve).not_to_be_focused()
            await approve.click()
            await expect(modal).to_be_hidden()
            log = page.get_by_role("log", name="Conversation")
            await expect(log.get_by_text("priority is now high")).to_be_visible(timeout=SLOW_MS)
            about = page.get_by_label("About this work order")
            await expect(about.locator("dd").filter(has_text="High")).to_be_visible(timeout=SLOW_MS)
            await expect(about.locator("dt:text-is('Version') + dd")).to_have_text("2")
            await expect(page.get_by_label("Message to the copilot")).to_have_value("")


async def test_a_pending_approval_is_there_again_after_a_reload_and_on_another_page(
    server: Server, page_of: SignedInPage
) -> None:
    """Scenario 2.1: reload, move on, come back: it waits in the drawer, in the count and under Approvals."""
    async with page_of("owner", viewport={"width": 1280, "height": 820}) as page:
        await _create_order(page, "Door closer bent, loading dock", "")
        await page.keyboard.press("Control+k")
        await page.get_by_label("Message to the copilot").fill("set the door order to high priority")
        await page.keyboard.press("Enter")
        modal = page.get_by_role("dialog", name="Change this work order?")
        await expect(modal).to_be_visible(timeout=SLOW_MS)
        await modal.get_by_role("button", name="Later").click()
        await expect(modal).to_be_hidden()
        await page.reload()
        await expect(page.locator("a.awaiting .pending-count")).to_have_text("1")
        await page.goto("/app/approvals")
        await page.get_by_role("link", name="Review").first.click()
        await expect(modal).to_be_visible()
        await modal.get_by_text("Reject…").click()
        await modal.get_by_label("Why not?").fill("It is only cosmetic")
        await modal.get_by_role("button", name="Reject", exact=True).click()
        await expect(page.get_by_text("Nothing awaits you")).to_be_visible()
        await expect(page.locator("#approvals").get_by_text("It is only cosmetic")).to_be_visible()


async def test_on_a_phone_the_change_is_approved_from_the_sheet(server: Server, page_of: SignedInPage) -> None:
    """HTTP-5, COP-7: 390 px wide, tabs at the bottom, the approval as a sheet."""
    phone = {"width": 390, "height": 844}
    async with page_of("owner", viewport=phone, has_touch=True, is_mobile=True, color_scheme="dark") as page:
        await _create_order(page, "Thermostat 2.11 unresponsive", "")
        tabs = page.get_by_role("navigation", name="Quick")
        await tabs.get_by_role("button", name="Copilot").tap()
        await page.get_by_label("Message to the copilot").fill("mark the thermostat order as done")
        await page.get_by_role("button", name="Send").tap()
        modal = page.get_by_role("dialog", name="Change this work order?")
        await expect(modal).to_be_visible(timeout=SLOW_MS)
        await modal.get_by_role("button", name="Approve change").tap()
        await expect(page.locator(".tool-write").get_by_text("Done", exact=True)).to_be_visible(timeout=SLOW_MS)
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width <= phone["width"]


async def _create_order(page: Page, title: str, description: str) -> None:
    await page.goto("/app/work-orders/new")
    await page.get_by_role("textbox", name="Title").fill(title)
    await page.get_by_role("textbox", name="Description").fill(description)
    await page.get_by_role("button", name="Create work order").click()
    await expect(page.get_by_role("heading", name=title)).to_be_visible()


async def test_an_approved_change_is_undone_from_the_order_s_history(server: Server, page_of: SignedInPage) -> None:
    """Contract section 7, D-30: one press takes it back; the undo stands in the history too."""
    async with page_of("owner", viewport={"width": 1280, "height": 820}) as page:
        await _create_order(page, "Quarterly filter change", "")
        await page.keyboard.press("Control+k")
        await page.get_by_label("Message to the copilot").fill("set the filter order to low priority")
        await page.keyboard.press("Enter")
        modal = page.get_by_role("dialog", name="Change this work order?")
        await expect(modal).to_be_visible(timeout=SLOW_MS)
        approve = modal.get_by_role("button", name="Approve change")
        await expect(approve).to_be_enabled()
        await approve.focus()
        await page.keyboard.press("Enter")
        await expect(modal).to_be_visible()  # Enter never approves
        await page.keyboard.press("Space")
        await expect(modal).to_be_hidden()
        history = page.get_by_role("region", name="History")
        await history.get_by_role("button", name="Undo").click()
        await expect(page.get_by_text("Undone. It is as it was before.").first).to_be_attached()
        about = page.get_by_label("About this work order")
        await expect(about.locator("dd").filter(has_text="Medium")).to_be_visible()
        await expect(about.locator("dt:text-is('Version') + dd")).to_have_text("3")
        await expect(history.get_by_text("to undo an earlier change")).to_be_visible()
