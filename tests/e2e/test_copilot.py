"""The copilot in a browser: it speaks, proposes, waits, and does only what was approved (COP)."""

from __future__ import annotations

import asyncio

from playwright.async_api import expect

from app.llm.demo.script import say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.e2e.conftest import SignedInPage
from tests.e2e.steps import (
    DESK,
    SLOW_MS,
    Size,
    ask,
    ask_for_a_change,
    at_both_sizes,
    conversation,
    fits,
    make_orders,
    message_box,
    open_copilot,
    property_is,
    proposed,
)


@at_both_sizes
async def test_the_answer_is_shown_while_it_comes(page_of: SignedInPage, model: ScriptedModel, size: Size) -> None:
    """COP-7: the first words stand there before the last were said; Send waits for the end."""
    rest = asyncio.Event()
    model.add(say("You have **two** open orders. Both can wait until Monday.", middle=rest))
    async with page_of("owner", **size) as page:
        await open_copilot(page)
        await ask(page, "what is open?")
        said = conversation(page).locator(".bot").last
        await expect(said).to_contain_text("You")
        await expect(said).not_to_contain_text("Monday")
        await expect(conversation(page)).to_have_attribute("aria-busy", "true")
        await expect(page.get_by_role("button", name="Send")).to_be_hidden()
        await fits(page)
        rest.set()
        await expect(said).to_contain_text("Both can wait until Monday.")
        await expect(said.locator("strong")).to_have_text("two")
        await expect(conversation(page)).to_have_attribute("aria-busy", "false")
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()


async def test_a_question_is_answered_from_one_s_own_orders(server: Server, page_of: SignedInPage) -> None:
    """COP-6: what was looked through is said in words; another's orders are not in it."""
    await make_orders(server, "Pump 3 leaks", "Gate motor hums")
    await make_orders(server, "Lift stops between floors", who="stranger")
    async with page_of("owner", **DESK) as page:
        await open_copilot(page)
        await ask(page, "show my pending orders")
        said = conversation(page).locator(".bot").last
        await expect(said).to_contain_text("Pump 3 leaks", timeout=SLOW_MS)
        await expect(said).to_contain_text("Gate motor hums")
        await expect(said).not_to_contain_text("Lift stops")
        await expect(conversation(page).locator(".tool").last).to_contain_text("2 found")


@at_both_sizes
async def test_two_changes_in_a_row_are_approved_and_the_page_behind_follows_each(
    server: Server, page_of: SignedInPage, size: Size
) -> None:
    """COP-3, COP-7: nothing is kept in the box, and the order's page shows each new version."""
    [order_id] = await make_orders(server, "Pump 3 leaks")
    async with page_of("owner", **size) as page:
        await page.goto(f"/app/work-orders/{order_id}")
        modal = await ask_for_a_change(page, "set the pump order to high priority")
        await fits(page)
        await modal.get_by_role("button", name="Approve change").click()
        await expect(modal).to_be_hidden()
        await expect(conversation(page).get_by_text("priority is now high")).to_be_visible(timeout=SLOW_MS)
        await ask(page, "mark the pump order as done")
        await (await proposed(page)).get_by_role("button", name="Approve change").click()
        await expect(conversation(page).locator(".tool-executed.tool-write")).to_have_count(2, timeout=SLOW_MS)
        await property_is(page, "Version", "3")
        await property_is(page, "Status", "Done")


@at_both_sizes
async def test_a_rejection_with_a_reason_changes_nothing_and_the_copilot_reads_why(
    server: Server, page_of: SignedInPage, model: ScriptedModel, size: Size
) -> None:
    """COP-7, D-6, SEC-7"""
    [order_id] = await make_orders(server, "Pump 3 leaks")
    async with page_of("owner", **size) as page:
        await page.goto(f"/app/work-orders/{order_id}")
        modal = await ask_for_a_change(page, "set the pump order to low priority")
        await modal.get_by_text("Reject…").click()
        reason = modal.get_by_label("Why not?")
        await expect(reason).to_be_focused()
        await reason.fill("The cellar floods")
        await fits(page)
        await modal.get_by_role("button", name="Reject", exact=True).click()
        await expect(modal).to_be_hidden()
        card = conversation(page).locator(".tool-rejected")
        await expect(card).to_contain_text("Rejected", timeout=SLOW_MS)
        await property_is(page, "Version", "1")
        async with asyncio.timeout(SLOW_MS / 1000):
            while "The cellar floods" not in str(model.requests[-1]["messages"]):  # noqa: ASYNC110 - the server's call
                await asyncio.sleep(0.05)


@at_both_sizes
async def test_an_executed_change_is_undone_from_its_card(server: Server, page_of: SignedInPage, size: Size) -> None:
    """Contract section 7, D-30, COP-7"""
    [order_id] = await make_orders(server, "Filter change in hall 2")
    async with page_of("owner", **size) as page:
        await page.goto(f"/app/work-orders/{order_id}")
        modal = await ask_for_a_change(page, "set the filter order to high priority")
        await modal.get_by_role("button", name="Approve change").click()
        undo = conversation(page).get_by_role("button", name="Undo")
        await undo.click()
        await expect(undo).to_have_count(0)
        await property_is(page, "Priority", "Medium")
        await property_is(page, "Version", "3")


@at_both_sizes
async def test_stop_ends_the_answer_at_once(page_of: SignedInPage, model: ScriptedModel, size: Size) -> None:
    """COP-7, D-3: and the next question can be asked."""
    model.add(say("This will take a very long time to say.", middle=asyncio.Event()))
    async with page_of("owner", **size) as page:
        await open_copilot(page)
        await ask(page, "tell me everything")
        await expect(conversation(page)).to_contain_text("This")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()
        await expect(conversation(page).get_by_role("button", name="Try again")).to_be_visible()
        model.add(say("Here I am again."))
        await ask(page, "are you there?")
        await expect(conversation(page)).to_contain_text("Here I am again.")


async def test_a_new_conversation_starts_empty_and_the_earlier_one_is_found_again(
    page_of: SignedInPage, model: ScriptedModel
) -> None:
    """COP-1, COP-8"""
    model.add(say("The first answer."), say("The second answer."))
    async with page_of("owner", **DESK) as page:
        await open_copilot(page)
        await ask(page, "a first question")
        await expect(conversation(page)).to_contain_text("The first answer.")
        await expect(conversation(page)).to_have_attribute("aria-busy", "false")
        await page.reload()
        await page.get_by_role("button", name="New conversation").click()
        await expect(conversation(page)).to_contain_text("What needs doing?")
        await ask(page, "a second question")
        await expect(conversation(page)).to_contain_text("The second answer.")
        await expect(conversation(page)).to_have_attribute("aria-busy", "false")
        await page.get_by_label("Earlier conversations").click()
        await page.get_by_role("link", name="a first question").click()
        await expect(conversation(page)).to_contain_text("The first answer.")
        await expect(conversation(page)).not_to_contain_text("The second answer.")


async def test_the_drawer_goes_on_streaming_while_one_moves_between_pages_and_back(
    page_of: SignedInPage, model: ScriptedModel
) -> None:
    """COP-7, D-2: what is written in the box stays, too."""
    rest = asyncio.Event()
    model.add(say("First words, then the last words.", middle=rest))
    async with page_of("owner", **DESK) as page:
        await open_copilot(page)
        await ask(page, "say something long")
        await expect(conversation(page)).to_contain_text("First")
        await message_box(page).fill("half a thought")
        await page.get_by_label("Main").get_by_role("link", name="Approvals").click()
        await expect(page.get_by_role("heading", name="Approvals", exact=True)).to_be_visible()
        await page.get_by_label("Main").get_by_role("link", name="My runs").click()
        await expect(page.get_by_role("heading", name="My runs", exact=True)).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("heading", name="Approvals", exact=True)).to_be_visible()
        rest.set()
        await expect(conversation(page)).to_contain_text("the last words.")
        await expect(conversation(page).locator(".bot")).to_have_count(1)
        await expect(message_box(page)).to_have_value("half a thought")
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()
