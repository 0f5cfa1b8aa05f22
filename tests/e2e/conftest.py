"""A real browser on the real program: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright

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


class OpenedPage(Protocol):
    def __call__(self, *, refused: int = 0, **context: Any) -> AbstractAsyncContextManager[Page]: ...


class SignedInPage(Protocol):
    def __call__(self, who: str, *, refused: int = 0, **context: Any) -> AbstractAsyncContextManager[Page]: ...


@pytest.fixture
def new_page(browser: Browser, server: Server) -> OpenedPage:
    """`async with new_page() as page`: of somebody unknown. Fails on script errors and CSP violations in any window.

    The browser reports a refused request as an error; `refused` names the HTTP status that the story expects.
    """

    @asynccontextmanager
    async def opened(*, refused: int = 0, **context: Any) -> AsyncIterator[Page]:
        surroundings = await browser.new_context(base_url=server.url, **({"locale": "en-GB"} | context))
        surroundings.set_default_timeout(15_000)
        faults = _faults(surroundings, refused)
        try:
            yield await surroundings.new_page()
            assert faults == []
        finally:
            await surroundings.close()

    return opened


@pytest.fixture
def page_of(new_page: OpenedPage, server: Server) -> SignedInPage:
    """`async with page_of("owner") as page`: as `new_page`, signed in through the form."""

    @asynccontextmanager
    async def opened(who: str, *, refused: int = 0, **context: Any) -> AsyncIterator[Page]:
        await server.person(who)
        async with new_page(refused=refused, **context) as page:
            await sign_in(page, who)
            yield page

    return opened


async def sign_in(page: Page, who: str) -> None:
    email, password, _, _ = CAST[who]
    await page.goto("/login")
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/app/work-orders")


def _faults(surroundings: BrowserContext, refused: int) -> list[str]:
    """Grows with each script error and each message of the console that is one."""
    faults: list[str] = []

    def note(message: ConsoleMessage) -> None:
        expected = f"the server responded with a status of {refused} "
        if message.type == "error" and expected not in message.text:
            faults.append(message.text)

    surroundings.on("weberror", lambda error: faults.append(str(error.error)))
    surroundings.on("console", note)
    return faults
