"""The viewer of the API's description, in a real browser."""

from __future__ import annotations

from playwright.async_api import Browser

from tests.conftest import Server


async def test_the_viewer_shows_the_api_within_the_content_security_policy(browser: Browser, server: Server) -> None:
    """HTTP-2, HTTP-6: our own files, no inline script or style, nothing from elsewhere, nothing on the console."""
    said: list[str] = []
    asked: list[str] = []
    page = await browser.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    try:
        answer = await page.goto(f"{server.url}/api/docs")
        assert answer is not None
        assert "unsafe" not in (await answer.all_headers())["content-security-policy"]
        await page.get_by_text("Your own work orders, newest first").click()
        await page.get_by_role("button", name="Try it out").first.wait_for()
    finally:
        await page.close()
    assert said == []
    assert all(url.startswith((server.url, "data:")) for url in asked)
