"""The dispatcher's page of people in a browser (ADM, AUTH-9)."""

from __future__ import annotations

from playwright.async_api import expect

from tests.conftest import Server
from tests.e2e.conftest import SignedInPage
from tests.e2e.steps import Size, at_both_sizes, fits


@at_both_sizes
async def test_a_role_changes_only_after_a_yes(server: Server, page_of: SignedInPage, size: Size) -> None:
    """ADM-2, AUTH-9, HTTP-5: Cancel puts the choice back; the new role holds on the person's next request."""
    technician = await server.sign_in_as("owner")
    async with page_of("dispatcher", **size) as page:
        await page.goto("/app/admin")
        role = page.get_by_role("combobox", name="Role of Rosa Lind")
        asked = page.get_by_role("alertdialog", name="Change the role of Rosa Lind?")
        await role.select_option("viewer")
        await expect(asked).to_be_visible()
        await fits(page)
        await asked.get_by_role("button", name="Cancel").click()
        await expect(role).to_have_value("user")
        await role.select_option("viewer")
        await asked.get_by_role("button", name="Change role").click()
        await expect(page.locator("#toasts")).to_contain_text("Rosa Lind is now a viewer.")
        await expect(role).to_have_value("viewer")
        await fits(page)
    refused = await technician.post("/api/v1/work-orders", json={"title": "Not any more"})
    assert refused.status_code in (401, 403)


@at_both_sizes
async def test_people_are_searched_and_a_switch_asks_before_it_turns(
    server: Server, page_of: SignedInPage, size: Size
) -> None:
    """ADM-1, ADM-3, HTTP-5"""
    await server.person("owner")
    await server.person("stranger")
    async with page_of("dispatcher", **size) as page:
        await page.goto("/app/admin")
        await page.get_by_label("Search by name or e-mail address").fill("adeyemi")
        await expect(page.get_by_text("1 person", exact=True)).to_be_visible()
        account = page.get_by_role("switch", name="Account active, Tom Adeyemi")
        await account.click()
        asked = page.get_by_role("alertdialog", name="Deactivate Tom Adeyemi?")
        await asked.get_by_role("button", name="Deactivate").click()
        await expect(account).to_have_attribute("aria-checked", "false")
        await expect(page.get_by_label("Search by name or e-mail address")).to_have_value("adeyemi")
