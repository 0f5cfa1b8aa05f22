"""The gate as people meet it: a tier raised, a change kept and run, a request approved (T-5, T-8, T-10)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import READ, effects
from tests.e2e.axe import check, in_each_look
from tests.e2e.conftest import SignedInPage
from tests.e2e.steps import DESK, SLOW_MS, Size, ask, at_both_sizes, conversation, fits, make_orders, open_copilot
from tests.tools.connected import connected, reserve, sent
from tests.tools.connections.systems import Systems

TOOLS, REVIEW = "/app/admin/tools", "/app/admin/review"
TOOL = "update_work_order"


@pytest.fixture
async def systems(tmp_path: Path) -> AsyncIterator[Systems]:
    async with connected(tmp_path / "connections") as running:
        yield running


@pytest.fixture
async def joined(systems: Systems, server: Server) -> Server:
    """The desk with the two demonstration systems, which must be there before it starts."""
    return server


async def _raise(page: Page, tool: str, tier: str) -> None:
    await page.goto(TOOLS)
    row = page.locator("li.tool-row", has=page.get_by_role("heading", name=tool, exact=True))
    await row.get_by_text("Raise…").click()
    await row.get_by_label("To", exact=True).select_option(tier)
    await row.get_by_role("button", name=f"Raise the tier of {tool}").click()
    question = page.get_by_role("alertdialog", name=f"Raise {tool}?")
    await question.get_by_role("button", name="Raise").click()
    await expect(row.locator(".proof .tier")).to_have_text(tier)


async def _keep_a_change(server: Server, model: ScriptedModel, page: Page) -> str:
    """The owner asks, the gate keeps it; the order's id."""
    [order] = await make_orders(server, "Pump 3 leaks", description="Since Monday.", priority="low")
    model.add(call(READ), call(TOOL, {"id": order, "priority": "high"}), say("A dispatcher looks at it."))
    await open_copilot(page)
    await ask(page, "raise the pump order")
    await expect(conversation(page).get_by_text("For a dispatcher’s review")).to_be_visible(timeout=SLOW_MS)
    await expect(conversation(page).get_by_text("A dispatcher looks at it.")).to_be_visible(timeout=SLOW_MS)
    return order


@at_both_sizes
async def test_a_change_is_kept_and_run_once_from_the_queue(
    server: Server, model: ScriptedModel, page_of: SignedInPage, size: Size
) -> None:
    """T-5, T-8: raised through the page, denied, in the queue, run there: one effect, which the requester sees."""
    async with page_of("dispatcher", **size) as dispatcher, page_of("owner", **size) as owner:
        await _raise(dispatcher, TOOL, "review")
        await fits(dispatcher)
        order = await _keep_a_change(server, model, owner)
        assert await effects(server, order) == []
        await dispatcher.goto(REVIEW)
        await fits(dispatcher)
        waiting = dispatcher.get_by_role("article", name="Change: Pump 3 leaks")
        await expect(waiting.get_by_text("Kept because: an admin raised it to review")).to_be_visible()
        await waiting.get_by_role("button", name="Run: Change: Pump 3 leaks").click()
        await dispatcher.get_by_role("alertdialog").get_by_role("button", name="Run").click()
        await expect(waiting.get_by_text("Was run by Ines Okafor")).to_be_visible(timeout=SLOW_MS)
        await expect(dispatcher.locator(".rail .review-count")).to_have_text("")
        await owner.goto("/app/approvals")
        await expect(owner.locator("#approvals").get_by_text("Run by a dispatcher")).to_be_visible()
        await owner.goto(f"/app/work-orders/{order}")
        await expect(owner.get_by_label("About this work order").locator(".priority-high")).to_be_visible()
    assert len(await effects(server, order)) == 1


async def test_the_second_dispatcher_is_told_that_it_was_decided(
    server: Server, model: ScriptedModel, page_of: SignedInPage
) -> None:
    """T-8, scenario 1.7: refused in one window, run in the other: nothing runs, and the card says why."""
    async with page_of("dispatcher", **DESK) as first, page_of("owner", **DESK) as owner:
        await _raise(first, TOOL, "review")
        order = await _keep_a_change(server, model, owner)
        async with page_of("dispatcher", refused=409, **DESK) as second:
            await second.goto(REVIEW)
            await first.goto(REVIEW)
            await first.get_by_text("Refuse…").click()
            await first.get_by_label("Why not?").fill("Not before Friday.")
            await first.get_by_role("button", name="Refuse", exact=True).click()
            card = first.get_by_role("article", name="Change: Pump 3 leaks")
            await expect(card.get_by_text("Refused by Ines Okafor")).to_be_visible()
            await second.get_by_role("button", name="Run: Change: Pump 3 leaks").click()
            await second.get_by_role("alertdialog").get_by_role("button", name="Run").click()
            late = second.get_by_role("article", name="Change: Pump 3 leaks")
            await expect(late.get_by_text("Somebody decided this already.")).to_be_visible()
            await expect(late.get_by_text("Refused by Ines Okafor")).to_be_visible()
        await owner.goto("/app/approvals")
        await expect(owner.locator("#approvals").get_by_text("Refused by a dispatcher")).to_be_visible()
        await expect(owner.get_by_text("“Not before Friday.”")).to_be_visible()
    assert await effects(server, order) == []


@at_both_sizes
async def test_a_request_is_shown_whole_approved_and_sent_once(
    joined: Server, systems: Systems, model: ScriptedModel, page_of: SignedInPage, size: Size
) -> None:
    """T-10, T-13, D-8: every part and every rule in the modal; nothing is sent before, one call afterwards."""
    async with page_of("owner", **size) as page:
        modal = await _ask_for_seals(page, model)
        await expect(modal.get_by_text("inventory: POST /reservations")).to_be_visible()
        for part, value in (("Connection", "inventory"), ("Method", "POST"), ("Path", "/reservations")):
            await expect(modal.get_by_role("row", name=f"{part} {value}")).to_be_visible()
        await expect(modal.get_by_role("row", name="Body")).to_contain_text('"quantity": 4')
        await expect(modal.get_by_text("Nothing is sent now.")).to_be_visible()
        await modal.get_by_text("Exactly what will run").click()
        await expect(modal.get_by_text("reserves stock")).to_be_visible()
        assert sent(systems) == []
        await modal.get_by_role("button", name="Approve request").click()
        log = conversation(page)
        await expect(log.get_by_text("Sent POST /reservations to inventory")).to_be_visible(timeout=SLOW_MS)
        await expect(log.get_by_text("Four seals are yours.")).to_be_visible(timeout=SLOW_MS)
        await expect(log.get_by_role("button", name="Undo")).to_have_count(0)
        assert sent(systems) == [("POST", "/reservations")]
        await fits(page)


@in_each_look
async def test_pages_and_modal_of_the_gate_have_no_serious_issue(
    joined: Server, model: ScriptedModel, page_of: SignedInPage, look: dict[str, Any]
) -> None:
    """HTTP-5, WCAG 2.2 AA: folds open, in both schemes."""
    async with page_of("dispatcher", **look) as dispatcher, page_of("owner", **look) as owner:
        await _raise(dispatcher, TOOL, "review")
        await dispatcher.get_by_text("Raise…").first.click()
        await check(dispatcher, TOOLS)
        await _keep_a_change(joined, model, owner)
        await check(owner, "the drawer with a change that was kept")
        await owner.get_by_role("button", name="Close the copilot").click()
        await owner.goto("/app/approvals")
        await check(owner, "approvals with a change that was kept")
        await dispatcher.goto(REVIEW)
        await dispatcher.get_by_text("Exactly what would run").click()
        await dispatcher.get_by_text("Refuse…").click()
        await check(dispatcher, REVIEW)
        await dispatcher.get_by_role("button", name="Refuse", exact=True).click()
        await expect(dispatcher.get_by_text("Refused by Ines Okafor")).to_be_visible()
        await check(dispatcher, "the queue, decided")
        await dispatcher.goto(REVIEW)
        await check(dispatcher, "the queue, decided lately")
        modal = await _ask_for_seals(owner, model)
        await modal.get_by_text("Exactly what will run").click()
        await expect(modal.get_by_role("button", name="Approve request")).to_be_enabled()
        await check(owner, "the modal of a request")


async def _ask_for_seals(page: Page, model: ScriptedModel) -> Any:
    """The copilot proposes to reserve four; its modal."""
    model.add(reserve(4, "write"), reserve(4, "confirmed_write"), say("Four seals are yours."))
    await open_copilot(page)
    await ask(page, "reserve four seals")
    modal = page.get_by_role("dialog", name="Send this request?")
    await expect(modal).to_be_visible(timeout=SLOW_MS)
    return modal
