"""Accounts in a browser: in, out, and back in (AUTH, HTTP-5)."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.accounts.house import Mailbox
from tests.conftest import CAST, Server
from tests.e2e.conftest import OpenedPage
from tests.e2e.steps import Size, at_both_sizes, fits

EMAIL, PASSWORD, NEW_PASSWORD = "ada@example.com", "Passw0rd1", "N3wPassword"


@pytest.fixture(autouse=True)
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    """Takes the desk's mail; asked for before the server is."""
    taken = Mailbox()
    monkeypatch.setattr("app.desk._mailer", lambda _settings: taken)
    return taken


@at_both_sizes
async def test_one_registers_signs_out_and_meets_plain_words_for_a_wrong_password(
    new_page: OpenedPage, size: Size
) -> None:
    """AUTH-1, AUTH-2, AUTH-6, HTTP-5"""
    async with new_page(refused=401, **size) as page:
        await page.goto("/")
        await page.get_by_role("link", name="Create an account").click()
        await page.get_by_label("Your name").fill("Ada Fox")
        await page.get_by_label("E-mail address").fill(EMAIL)
        await page.get_by_label("Password").fill(PASSWORD)
        await fits(page)
        await page.get_by_role("button", name="Create account").click()
        await expect(page.get_by_role("heading", name="Your work orders will be here")).to_be_visible()

        await page.locator("summary").filter(has_text="Account of Ada Fox").click()
        await page.get_by_role("button", name="Sign out").click()
        await page.goto("/login")
        await _sign_in(page, EMAIL, "Wrong0001")
        await expect(page.get_by_role("alert")).to_contain_text("do not match")
        await expect(page.get_by_label("E-mail address")).to_have_value(EMAIL)
        await expect(page.get_by_label("Password")).to_have_value("")
        await fits(page)
        await _sign_in(page, EMAIL, PASSWORD)
        await expect(page.get_by_role("heading", name="Work orders", exact=True)).to_be_visible()


@at_both_sizes
async def test_a_forgotten_password_is_set_anew_by_the_link_in_the_mail(
    server: Server, new_page: OpenedPage, mailbox: Mailbox, size: Size
) -> None:
    """AUTH-7, HTTP-5"""
    await server.person("owner")
    email = CAST["owner"][0]
    async with new_page(**size) as page:
        await page.goto("/login")
        await page.get_by_role("link", name="Forgot your password?").click()
        await page.get_by_label("E-mail address").fill(email)
        await page.get_by_role("button", name="Send the link").click()
        await expect(page.get_by_role("status")).to_contain_text("on its way")
        await page.goto(f"/reset-password?token={(await mailbox.next()).token}")
        await page.get_by_label("New password").fill(NEW_PASSWORD)
        await fits(page)
        await page.get_by_role("button", name="Save and sign in").click()
        await page.wait_for_url("**/app/work-orders")
        await page.context.clear_cookies()
        await page.goto("/login")
        await _sign_in(page, email, NEW_PASSWORD)
        await page.wait_for_url("**/app/work-orders")


async def _sign_in(page: Page, email: str, password: str) -> None:
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()
