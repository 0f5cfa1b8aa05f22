"""A real browser on the real program: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

from tests.conftest import CAST, Server

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.fail("The browser tests need Chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        await running.close()


class SignedInPage(Protocol):
    def __call__(self, who: str, **context: Any) -> AbstractAsyncContextManager[Page]: ...


@pytest.fixture
def page_of(browser: Browser, server: Server) -> SignedInPage:
    """`async with page_of("owner") as page`: signed in through the form; fails on script errors and CSP violations."""

    @asynccontextmanager
    async def opened(who: str, **context: Any) -> AsyncIterator[Page]:
        await server.person(who)
        surroundings = await browser.new_context(base_url=server.url, **({"locale": "en-GB"} | context))
        surroundings.set_default_timeout(15_000)
        page = await surroundings.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.extend(_fault(message)))
        try:
            await sign_in(page, who)
            yield page
            assert faults == []
        finally:
            await surroundings.close()

    return opened


async def sign_in(page: Page, who: str) -> None:
    email, password, _, _ = CAST[who]
    await page.goto("/login")
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/app/work-orders")


def _fault(message: ConsoleMessage) -> list[str]:
    return [message.text] if message.type == "error" else []
