"""The pages of work orders, as a browser without JavaScript and as htmx meet them."""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.conftest import Server

APP = "/app/work-orders"
SignInAs = Callable[[str], Awaitable[httpx.AsyncClient]]
PUMP = {"title": "Pump leaks at flange", "description": "Seal leaks", "priority": "low", "status": "pending"}


async def _token(client: httpx.AsyncClient) -> str:
    page = await client.get("/app/profile")
    found = re.search(r'name="_csrf_token" value="([0-9a-f]+)"', page.text)
    assert found, page.text
    return found.group(1)


async def _post(client: httpx.AsyncClient, path: str, fields: dict[str, Any]) -> httpx.Response:
    return await client.post(path, data={"_csrf_token": await _token(client)} | fields)


async def _order(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/api/v1/work-orders", json=PUMP | fields)
    data: dict[str, Any] = answer.json()["data"]
    return data


def _text(answer: httpx.Response) -> str:
    return html.unescape(answer.text)


async def test_an_order_is_created_by_a_plain_form_and_the_next_page_says_so(sign_in_as: SignInAs) -> None:
    """HTTP-5, WO-5."""
    owner = await sign_in_as("owner")
    assert 'action="/app/work-orders/new"' in (await owner.get(f"{APP}/new")).text
    answer = await _post(owner, f"{APP}/new", PUMP | {"description": "Puddle.\r\nBolts tight."})
    assert answer.status_code == 303
    page = await owner.get(answer.headers["location"])
    assert page.status_code == 200
    assert "Work order created." in page.text
    assert PUMP["title"] in page.text
    stored = (await owner.get("/api/v1/work-orders")).json()["data"]["items"][0]
    assert stored["description"] == "Puddle.\nBolts tight."


async def test_a_form_that_is_not_right_comes_back_as_typed_with_a_word_at_each_fault(sign_in_as: SignInAs) -> None:
    """HTTP-5: 422."""
    owner = await sign_in_as("owner")
    answer = await _post(owner, f"{APP}/new", PUMP | {"title": "ab", "description": "Kept <b>as typed</b>"})
    assert answer.status_code == 422
    assert 'id="title-error"' in answer.text
    assert "Kept <b>as typed</b>" in _text(answer)
    assert "Kept <b>" not in answer.text
    assert (await owner.get("/api/v1/work-orders")).json()["data"]["items"] == []


async def test_an_empty_description_is_none(sign_in_as: SignInAs) -> None:
    """WO-1."""
    owner = await sign_in_as("owner")
    await _post(owner, f"{APP}/new", PUMP | {"description": "  "})
    assert (await owner.get("/api/v1/work-orders")).json()["data"]["items"][0]["description"] is None


async def test_the_list_filters_searches_and_pages_by_its_address(sign_in_as: SignInAs) -> None:
    """HTTP-5, WO-2, WO-3, WO-4."""
    owner = await sign_in_as("owner")
    for number in range(22):
        await _order(owner, title=f"Valve {number:02}", priority="high" if number == 3 else "low")
    first = await owner.get(APP)
    assert "Valve 21" in first.text
    assert "Valve 01" not in first.text
    older = re.search(r'rel="next" href="([^"]+)"', first.text)
    assert older
    second = await owner.get(html.unescape(older.group(1)))
    assert "Valve 01" in second.text
    assert "Valve 21" not in second.text
    filtered = await owner.get(APP, params={"priority": "high", "search": "VALVE"})
    assert re.findall(r"Valve \d\d", filtered.text) == ["Valve 03"]
    assert 'value="VALVE"' in filtered.text
    for bad in ({"status": "open"}, {"cursor": "abc"}, {"search": "x" * 65}):
        assert (await owner.get(APP, params=bad)).status_code == 400
    assert (await owner.get(APP, params={"status": "", "priority": "", "search": " "})).status_code == 200


async def test_htmx_gets_the_list_alone_and_everybody_else_the_page(sign_in_as: SignInAs) -> None:
    """HTTP-5: the same fragment, alone when a part is asked for."""
    owner = await sign_in_as("owner")
    await _order(owner)
    part = await owner.get(APP, headers={"HX-Request": "true", "HX-Request-Type": "partial"})
    assert "<html" not in part.text
    assert PUMP["title"] in part.text
    restored = await owner.get(APP, headers={"HX-History-Restore-Request": "true", "HX-Request-Type": "full"})
    assert "<html" in restored.text
    for answer in (part, restored):
        assert answer.headers["vary"] == "HX-Request-Type"
        assert answer.headers["cache-control"] == "no-store"


async def test_an_order_is_edited_by_a_plain_form_and_its_history_shows_it(sign_in_as: SignInAs) -> None:
    """HTTP-5, WO-6."""
    owner = await sign_in_as("owner")
    path = f"{APP}/{(await _order(owner))['id']}"
    form = await owner.get(path, params={"edit": "1"})
    assert 'name="version" value="1"' in form.text
    answer = await _post(owner, path, PUMP | {"priority": "high", "version": "1"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}?done=saved")
    page = await owner.get(answer.headers["location"])
    assert "Your changes are saved." in page.text
    assert "Rosa Lind" in page.text
    assert "Priority" in page.text


async def test_a_conflict_keeps_what_was_typed_shows_what_changed_and_can_be_saved_again(server: Server) -> None:
    """WO-6, HTTP-5: field by field; what the person left alone keeps what others made of it."""
    owner, dispatcher = await server.sign_in_as("owner"), await server.sign_in_as("dispatcher")
    order = await _order(owner)
    path = f"{APP}/{order['id']}"
    await dispatcher.patch(f"/api/v1/work-orders/{order['id']}", json={"status": "done", "version": 1})
    answer = await _post(owner, path, PUMP | {"title": "Pump leaks badly", "version": "1"})
    assert answer.status_code == 409
    assert 'value="Pump leaks badly"' in answer.text
    assert 'name="version" value="2"' in answer.text
    assert re.search(r'<option value="done" selected>', answer.text)
    conflict = answer.text[answer.text.index('class="card conflict"') :]
    assert "Status" in conflict
    reload = re.search(rf'href="{path}"', conflict)
    assert reload
    assert (await owner.get(path)).status_code == 200
    again = await _post(owner, path, PUMP | {"title": "Pump leaks badly", "status": "done", "version": "2"})
    assert again.status_code == 303
    stored = (await owner.get(f"/api/v1/work-orders/{order['id']}")).json()["data"]
    assert (stored["title"], stored["status"], stored["version"]) == ("Pump leaks badly", "done", 3)


async def test_a_refused_edit_goes_on_from_the_version_the_person_saw(server: Server) -> None:
    """WO-6: a typing fault in between does not let a newer version be overwritten unseen."""
    owner, dispatcher = await server.sign_in_as("owner"), await server.sign_in_as("dispatcher")
    order = await _order(owner)
    await dispatcher.patch(f"/api/v1/work-orders/{order['id']}", json={"status": "done", "version": 1})
    answer = await _post(owner, f"{APP}/{order['id']}", PUMP | {"title": "ab", "version": "1"})
    assert answer.status_code == 422
    assert 'name="version" value="1"' in answer.text


async def test_an_order_is_deleted_by_a_plain_form_and_twice_is_once(sign_in_as: SignInAs) -> None:
    """HTTP-5, WO-7."""
    owner = await sign_in_as("owner")
    path = f"{APP}/{(await _order(owner))['id']}"
    for _ in range(2):
        answer = await _post(owner, f"{path}/delete", {"version": "1"})
        assert (answer.status_code, answer.headers["location"]) == (303, f"{APP}?done=deleted")
    assert "Work order deleted." in (await owner.get(answer.headers["location"])).text
    assert (await owner.get(path)).status_code == 404


async def test_a_deletion_of_a_changed_order_shows_it_again_instead(server: Server) -> None:
    """WO-7: 409."""
    owner, dispatcher = await server.sign_in_as("owner"), await server.sign_in_as("dispatcher")
    order = await _order(owner)
    await dispatcher.patch(f"/api/v1/work-orders/{order['id']}", json={"title": "Pump replaced", "version": 1})
    answer = await _post(owner, f"{APP}/{order['id']}/delete", {"version": "1"})
    assert answer.status_code == 409
    assert "Pump replaced" in answer.text
    assert "changed meanwhile" in answer.text


async def test_a_dispatcher_who_deletes_another_s_order_goes_back_to_everyone_s(server: Server) -> None:
    """HTTP-5, WO-7."""
    owner, dispatcher = await server.sign_in_as("owner"), await server.sign_in_as("dispatcher")
    order = await _order(owner)
    answer = await _post(dispatcher, f"{APP}/{order['id']}/delete", {"version": "1"})
    assert answer.headers["location"] == "/app/admin/work-orders?done=deleted"


async def test_a_form_without_a_version_says_that_it_is_out_of_date(sign_in_as: SignInAs) -> None:
    """WO-6: omitted version → 400."""
    owner = await sign_in_as("owner")
    path = f"{APP}/{(await _order(owner))['id']}"
    for version in ({}, {"version": "x"}, {"version": "0"}, {"version": "²"}):
        assert (await _post(owner, path, PUMP | version)).status_code == 400
        assert (await _post(owner, f"{path}/delete", version)).status_code == 400


@pytest.mark.parametrize(("who", "status"), [("stranger", 404), ("viewer", 200), ("dispatcher", 200)])
async def test_an_order_s_page_is_for_its_owner_dispatchers_and_viewers(server: Server, who: str, status: int) -> None:
    """WO-10, HTTP-5."""
    order = await _order(await server.sign_in_as("owner"))
    visitor = await server.sign_in_as(who)
    page = await visitor.get(f"{APP}/{order['id']}")
    assert page.status_code == status
    edit = await visitor.get(f"{APP}/{order['id']}", params={"edit": "1"})
    assert ('id="order-form"' in edit.text) == (who == "dispatcher")
    assert (await visitor.get(f"{APP}/zzz")).status_code == 400


async def test_a_viewer_writes_on_no_page(server: Server) -> None:
    """Roles: viewer reads only."""
    order = await _order(await server.sign_in_as("owner"))
    viewer = await server.sign_in_as("viewer")
    assert (await viewer.get(f"{APP}/new")).status_code == 403
    for path in (f"{APP}/new", f"{APP}/{order['id']}", f"{APP}/{order['id']}/delete"):
        assert (await _post(viewer, path, PUMP | {"version": "1"})).status_code == 403


async def test_everyone_s_list_is_for_dispatchers_and_viewers_and_names_the_technician(server: Server) -> None:
    """ADM-1..5, HTTP-5."""
    owner = await server.sign_in_as("owner")
    await _order(owner)
    assert (await owner.get("/app/admin/work-orders")).status_code == 403
    for who in ("dispatcher", "viewer"):
        page = await (await server.sign_in_as(who)).get("/app/admin/work-orders", params={"search": "PUMP"})
        assert page.status_code == 200
        assert PUMP["title"] in page.text
        assert "Rosa Lind" in page.text


async def test_a_form_without_its_token_changes_nothing(sign_in_as: SignInAs) -> None:
    """HTTP-6."""
    owner = await sign_in_as("owner")
    assert (await owner.post(f"{APP}/new", data=PUMP)).status_code == 403
    assert (await owner.get("/api/v1/work-orders")).json()["data"]["items"] == []


async def test_a_signed_out_visitor_is_sent_to_sign_in_and_back(server: Server) -> None:
    """HTTP-5."""
    nobody = await server.client()
    answer = await nobody.get(f"{APP}?status=done")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fapp%2Fwork-orders%3Fstatus%3Ddone"
