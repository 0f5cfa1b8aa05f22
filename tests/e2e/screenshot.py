"""`make screenshot`: takes docs/screenshot.png from the real desk, its demo data, and a change that waits."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from app.core.clock import SystemClock
from app.seed import seed, seed_people
from tests.conftest import Server
from tests.e2e.conftest import OpenedPage
from tests.e2e.steps import ask, conversation, open_copilot, proposed

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "screenshot.png"
MOST_BYTES = 250_000


async def test_the_desk_is_pictured(server: Server, new_page: OpenedPage) -> None:
    """A technician's list, the drawer open, an approval waiting; no larger than a README should load."""
    people = seed_people(server.settings)
    await seed(server.desk.accounts.accounts, server.desk.orders, SystemClock(), people)
    technician = next(one for one in people if one.role == "user")
    async with new_page(viewport={"width": 1280, "height": 820}, color_scheme="light") as page:
        await page.goto("/login")
        await page.get_by_label("E-mail address").fill(technician.email)
        await page.get_by_label("Password").fill(technician.password.get_secret_value())
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url("**/app/work-orders")
        await open_copilot(page)
        await ask(page, "The flange in pump room B is worse. Raise the pump order to high.")
        await (await proposed(page)).get_by_role("button", name="Later").click()
        await expect(conversation(page).get_by_role("link", name="Review change")).to_be_visible()
        await page.mouse.move(0, 0)
        await page.evaluate("document.fonts.ready.then(() => document.activeElement.blur())")
        await page.screenshot(path=PICTURE, animations="disabled")
    assert PICTURE.stat().st_size <= MOST_BYTES
