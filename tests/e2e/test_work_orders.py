"""Work orders in a browser: write, lose nothing in a conflict, delete, find again (WO, HTTP-5)."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.conftest import Server
from tests.e2e.conftest import SignedInPage
from tests.e2e.steps import DESK, Size, at_both_sizes, create_order, fits, make_orders, property_is


@at_both_sizes
async def test_a_work_order_is_written_down_and_stands_at_the_top_of_the_list(
    page_of: SignedInPage, size: Size
) -> None:
    """WO-2, WO-5, HTTP-5: a toast says so, once."""
    async with page_of("owner", **size) as page:
        await page.get_by_role("link", name="New work order").last.click()
        await page.get_by_role("textbox", name="Title").fill("Gate motor hums, does not open")
        await page.get_by_label("Priority").select_option("high")
        await fits(page)
        await page.get_by_role("button", name="Create work order").click()
        await expect(page.get_by_role("heading", name="Gate motor hums, does not open")).to_be_visible()
        await expect(page.locator("#toasts").get_by_role("paragraph")).to_be_visible()
        await property_is(page, "Priority", "High")
        await fits(page)
        await page.get_by_label("Where you are").get_by_role("link", name="Work orders").click()
        await expect(page.locator("#order-list tbody tr").first).to_contain_text("Gate motor hums, does not open")


@at_both_sizes
async def test_what_was_typed_survives_a_conflict_and_what_changed_is_shown_field_by_field(
    server: Server, page_of: SignedInPage, size: Size
) -> None:
    """WO-6, HTTP-5: two windows, one version; the later one keeps its text, sees the other's, and may still save."""
    [order_id] = await make_orders(server, "Lift stops between floors")
    async with page_of("owner", refused=409, **size) as first:
        await _edit(first, order_id)
        second = await first.context.new_page()
        await _edit(second, order_id)
        await second.get_by_role("textbox", name="Title").fill("Lift stops at floor 2")
        await second.get_by_role("button", name="Save changes").click()
        await property_is(second, "Version", "2")

        await first.get_by_role("textbox", name="Title").fill("Lift stuck, people inside")
        await first.get_by_label("Priority").select_option("high")
        await first.get_by_role("button", name="Save changes").click()
        told = first.get_by_role("alert").filter(has_text="changed while you were editing")
        row = told.get_by_role("row").filter(has_text="Title")
        await expect(row).to_contain_text("Lift stops at floor 2")
        await expect(row).to_contain_text("Lift stuck, people inside")
        await expect(first.get_by_role("textbox", name="Title")).to_have_value("Lift stuck, people inside")
        await expect(first.get_by_label("Priority")).to_have_value("high")
        await fits(first)
        await first.get_by_role("button", name="Save changes").click()
        await property_is(first, "Version", "3")
        await expect(first.get_by_role("heading", name="Lift stuck, people inside")).to_be_visible()


@at_both_sizes
async def test_a_deletion_asks_first_and_cancel_keeps_the_order(
    server: Server, page_of: SignedInPage, size: Size
) -> None:
    """WO-7, HTTP-5"""
    [order_id] = await make_orders(server, "Old sign on the door")
    async with page_of("owner", **size) as page:
        await page.goto(f"/app/work-orders/{order_id}")
        delete = page.get_by_role("button", name="Delete this work order")
        asked = page.get_by_role("alertdialog", name="Delete this work order?")
        await delete.click()
        await expect(asked).to_contain_text("“Old sign on the door” disappears from every list")
        await expect(asked.get_by_role("button", name="Cancel")).to_be_focused()
        await fits(page)
        await asked.get_by_role("button", name="Cancel").click()
        await expect(asked).to_be_hidden()
        await expect(delete).to_be_focused()
        await delete.click()
        await asked.get_by_role("button", name="Delete work order").click()
        await page.wait_for_url("**/app/work-orders*")
        await expect(page.get_by_role("heading", name="Your work orders will be here")).to_be_visible()


@at_both_sizes
async def test_filters_stand_in_the_address_and_back_restores_list_and_place(
    server: Server, page_of: SignedInPage, size: Size
) -> None:
    """WO-4, HTTP-5: back and forward restore the filtered list and where one was in it."""
    await make_orders(server, *(f"Radiator {number:02} is cold" for number in range(18)), priority="high")
    await make_orders(server, "Paint the fence", priority="low")
    async with page_of("owner", **size) as page:
        await page.get_by_label("Filter").get_by_role("link", name="High").click()
        await page.wait_for_url("**/app/work-orders?priority=high")
        await expect(page.get_by_role("link", name="Paint the fence")).to_have_count(0)
        target = page.get_by_role("link", name="Radiator 02 is cold")
        await target.scroll_into_view_if_needed()
        place = await page.evaluate("scrollY")
        assert place > 100
        await target.click()
        await expect(page.get_by_role("heading", name="Radiator 02 is cold")).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("link", name="Radiator 17 is cold")).to_be_attached()
        await expect(page.get_by_role("link", name="Paint the fence")).to_have_count(0)
        await page.wait_for_function("place => Math.abs(scrollY - place) < 50", arg=place)
        await page.go_back()
        await expect(page.get_by_role("link", name="Paint the fence")).to_be_attached()
        await page.go_forward()
        await expect(page.get_by_role("link", name="Paint the fence")).to_have_count(0)
        await expect(page.get_by_label("Filter").get_by_role("link", name="High")).to_have_attribute(
            "aria-current", "true"
        )


@at_both_sizes
async def test_the_search_narrows_the_list_while_one_types(server: Server, page_of: SignedInPage, size: Size) -> None:
    """WO-4, HTTP-5: `/` goes there; the address follows; the words can be taken away again."""
    await make_orders(server, "Boiler pressure low", "Window handle loose")
    async with page_of("owner", **size) as page:
        await page.keyboard.press("/")
        box = page.get_by_role("searchbox", name="Search work orders by title")
        await expect(box).to_be_focused()
        await page.keyboard.type("BOIL")
        await expect(page.get_by_role("link", name="Window handle loose")).to_have_count(0)
        await expect(page.get_by_role("link", name="Boiler pressure low")).to_be_visible()
        await expect(box).to_have_value("BOIL")
        await page.wait_for_url("**/app/work-orders?search=BOIL")
        await page.reload()
        await expect(box).to_have_value("BOIL")
        await page.get_by_role("link", name="Search for BOIL, remove").click()
        await expect(page.get_by_role("link", name="Window handle loose")).to_be_visible()


async def test_the_list_takes_a_change_without_losing_the_open_page(page_of: SignedInPage) -> None:
    """HTTP-5: a word that is not allowed is said at its field, and nothing typed is lost."""
    async with page_of("owner", refused=422, **DESK) as page:
        await create_order(page, "Camera at gate 4 is dark", "Since Monday.")
        await page.get_by_role("link", name="Edit").click()
        title = page.get_by_role("textbox", name="Title")
        await title.fill("   x   ")
        await page.get_by_role("textbox", name="Description").fill("Since Tuesday.")
        await page.get_by_role("button", name="Save changes").click()
        await expect(title).to_have_attribute("aria-invalid", "true")
        await expect(title).to_be_focused()
        await expect(page.get_by_role("textbox", name="Description")).to_have_value("Since Tuesday.")


async def _edit(page: Page, order_id: str) -> None:
    await page.goto(f"/app/work-orders/{order_id}?edit=1")
    await expect(page.get_by_role("button", name="Save changes")).to_be_visible()
