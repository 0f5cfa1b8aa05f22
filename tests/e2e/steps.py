"""What stories have in common: the two sizes, and the steps that several take."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.conftest import Server

Size = dict[str, Any]
"""Of a browser's window, as Playwright takes it."""

SLOW_MS = 20_000
DESK: Size = {"viewport": {"width": 1280, "height": 820}}
PHONE: Size = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

at_both_sizes = pytest.mark.parametrize("size", [pytest.param(DESK, id="desk"), pytest.param(PHONE, id="phone")])


async def fits(page: Page) -> None:
    """Nothing stands beyond the right edge."""
    inside, outside = await page.evaluate(
        "[document.documentElement.clientWidth, document.documentElement.scrollWidth]"
    )
    assert outside <= inside


async def make_orders(server: Server, *titles: str, who: str = "owner", **fields: str) -> list[str]:
    """Work orders of `who`, oldest first, by the API; their ids."""
    client = await server.sign_in_as(who)
    made = []
    for title in titles:
        answer = await client.post("/api/v1/work-orders", json={"title": title} | fields)
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["data"]["id"])
    return made


async def create_order(page: Page, title: str, description: str = "") -> None:
    await page.goto("/app/work-orders/new")
    await page.get_by_role("textbox", name="Title").fill(title)
    await page.get_by_role("textbox", name="Description").fill(description)
    await page.get_by_role("button", name="Create work order").click()
    await expect(page.get_by_role("heading", name=title)).to_be_visible()


def message_box(page: Page) -> Locator:
    return page.get_by_label("Message to the copilot")


def conversation(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation")


async def open_copilot(page: Page) -> None:
    """By the button that is there at this width."""
    await page.locator("[data-copilot-toggle]:visible").first.click()
    await expect(message_box(page)).to_be_focused()


async def ask(page: Page, text: str) -> None:
    await message_box(page).fill(text)
    await page.get_by_role("button", name="Send").click()
    await expect(message_box(page)).to_have_value("")


async def ask_for_a_change(page: Page, text: str) -> Locator:
    """Opens the copilot, asks, and waits for the modal."""
    await open_copilot(page)
    await ask(page, text)
    return await proposed(page)


async def proposed(page: Page) -> Locator:
    modal = page.get_by_role("dialog", name="Change this work order?")
    await expect(modal).to_be_visible(timeout=SLOW_MS)
    return modal


async def property_is(page: Page, name: str, value: str) -> None:
    """On the page of a work order."""
    about = page.get_by_label("About this work order")
    await expect(about.locator(f"dt:text-is('{name}') + dd")).to_have_text(value, timeout=SLOW_MS)
