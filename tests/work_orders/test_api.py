"""The JSON doors of work orders, over HTTP."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.conftest import Server

ORDERS = "/api/v1/work-orders"
SignInAs = Callable[[str], Awaitable[httpx.AsyncClient]]


async def _create(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post(ORDERS, json={"title": "Pump leaks at flange"} | fields)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def _field(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    return str(error["details"][0]["field"])


async def test_times_are_utc_with_milliseconds_and_ids_are_hexadecimal(sign_in_as: SignInAs) -> None:
    """HTTP-3."""
    order = await _create(await sign_in_as("owner"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", order["createdAt"])
    assert re.fullmatch(r"[0-9a-f]{24}", order["id"])
    assert order["owner"]["name"] == "Rosa Lind"


async def test_text_is_normalised_before_its_length_is_judged(sign_in_as: SignInAs) -> None:
    """WO-1, D-8: Unicode NFC, trimmed."""
    owner = await sign_in_as("owner")
    decomposed = unicodedata.normalize("NFD", "é" * 100)
    assert len(decomposed) == 200
    assert (await _create(owner, title=f"  {decomposed}\n"))["title"] == "é" * 100
    assert _field(await owner.post(ORDERS, json={"title": "  ab  "})) == "title"


BAD_BODIES: list[tuple[Any, str]] = [
    ({}, "title"),
    ({"title": None}, "title"),
    ({"title": "abc", "status": "open"}, "status"),
    ({"title": "abc", "priority": None}, "priority"),
    ({"title": "abc", "description": 5}, "description"),
    ({"title": "abc", "ownerId": "x"}, "_"),
    ({"title": "abc", "_id": "x"}, "_"),
    ({"title": "abc", "version": 3}, "_"),
    ({"title": "a\x00bc"}, "_"),
    (["title"], "_"),
    ("title", "_"),
]


@pytest.mark.parametrize(("body", "field"), BAD_BODIES, ids=[str(row[0])[:40] for row in BAD_BODIES])
async def test_a_creation_that_is_not_right_is_told_which_field(sign_in_as: SignInAs, body: Any, field: str) -> None:
    """WO-1, WO-8, HTTP-2."""
    answer = await (await sign_in_as("owner")).post(ORDERS, json=body)
    assert answer.status_code == 400
    assert _field(answer) == field


async def test_an_update_needs_its_version_and_takes_no_null_where_none_is_meant(sign_in_as: SignInAs) -> None:
    """WO-6, WO-8."""
    owner = await sign_in_as("owner")
    path = f"{ORDERS}/{(await _create(owner, description='Seal'))['id']}"
    for body, field in (
        ({"title": "Pump"}, "version"),
        ({"title": "Pump", "version": "1"}, "version"),
        ({"title": "Pump", "version": 1.5}, "version"),
        ({"title": "Pump", "version": 0}, "version"),
        ({"title": None, "version": 1}, "title"),
        ({"status": None, "version": 1}, "status"),
        ({"version": 1}, "_"),
        ({"title": "Pump", "version": 1, "owner": "x"}, "_"),
    ):
        answer = await owner.patch(path, json=body)
        assert (answer.status_code, _field(answer)) == (400, field), body
    cleared = await owner.patch(path, json={"description": None, "version": 1})
    assert (cleared.status_code, cleared.json()["data"]["description"]) == (200, None)


async def test_of_fifty_edits_over_http_with_one_version_one_answers_200_and_the_rest_409(server: Server) -> None:
    """WO-6: 1 success, 49 × 409, version + 1."""
    owner = await server.sign_in_as("owner")
    path = f"{ORDERS}/{(await _create(owner))['id']}"
    edits = [owner.patch(path, json={"title": f"Pump number {n}", "version": 1}) for n in range(50)]
    answers = await asyncio.gather(*edits)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 49
    lost = next(answer for answer in answers if answer.status_code == 409)
    assert lost.json()["error"]["code"] == "CONFLICT_VERSION"
    assert (await owner.get(path)).json()["data"]["version"] == 2


async def test_a_deletion_reads_its_version_from_the_json_body(sign_in_as: SignInAs) -> None:
    """WO-7: 204; again 204; stale 409; without a body 400; of something that never was 404."""
    owner = await sign_in_as("owner")
    path = f"{ORDERS}/{(await _create(owner))['id']}"
    assert (await owner.delete(path)).status_code == 400
    assert (await owner.request("DELETE", path, json={"version": 2})).status_code == 409
    for _ in range(2):
        answer = await owner.request("DELETE", path, json={"version": 1})
        assert (answer.status_code, answer.content) == (204, b"")
    assert (await owner.request("DELETE", f"{ORDERS}/{'0' * 24}", json={"version": 1})).status_code == 404
    assert (await owner.request("DELETE", f"{ORDERS}/zzz", json={"version": 1})).status_code == 400
    assert (await owner.get(ORDERS)).json()["data"]["items"] == []


async def test_an_admin_changes_and_deletes_another_s_order_and_a_stranger_meets_nothing(sign_in_as: SignInAs) -> None:
    """WO-6, WO-7, WO-10."""
    owner, stranger, dispatcher = [await sign_in_as(who) for who in ("owner", "stranger", "dispatcher")]
    order = await _create(owner)
    path = f"{ORDERS}/{order['id']}"
    for answer in (
        await stranger.get(path),
        await stranger.patch(path, json={"title": "Mine", "version": 1}),
        await stranger.request("DELETE", path, json={"version": 1}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    changed = await dispatcher.patch(path, json={"priority": "high", "version": 1})
    assert changed.json()["data"]["owner"] == order["owner"]
    assert (await dispatcher.request("DELETE", path, json={"version": 2})).status_code == 204
    assert (await owner.get(path)).status_code == 404


async def test_everyones_orders_answer_dispatchers_and_viewers_only(server: Server) -> None:
    """ADM-1..5, WO-2."""
    await _create(await server.sign_in_as("owner"))
    for who, status in (("owner", 403), ("viewer", 200), ("dispatcher", 200)):
        answer = await (await server.sign_in_as(who)).get("/api/v1/admin/work-orders")
        assert answer.status_code == status
    assert len(answer.json()["data"]["items"]) == 1
    nobody = await server.client()
    for path in (ORDERS, f"{ORDERS}/{'0' * 24}", "/api/v1/admin/work-orders"):
        refused = await nobody.get(path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHORIZED")


async def test_pages_go_on_by_a_signed_cursor_and_a_forged_one_is_refused(sign_in_as: SignInAs) -> None:
    """WO-3."""
    owner = await sign_in_as("owner")
    made = [(await _create(owner, title=f"Valve {number}"))["id"] for number in range(5)]
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = (await owner.get(ORDERS, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()["data"]
        assert list(page) == ["items", "nextCursor"]
        seen += [order["id"] for order in page["items"]]
        last, cursor = cursor, page["nextCursor"]
    assert seen == made[::-1]
    forged = last[:-2] + ("AA" if last[-2:] != "AA" else "BB")
    for bad in (forged, "abc", "-" * 500):
        answer = await owner.get(ORDERS, params={"cursor": bad})
        assert (answer.status_code, _field(answer)) == (400, "cursor")


async def test_search_and_filters_over_http_take_plain_text_only(sign_in_as: SignInAs) -> None:
    """WO-4, HTTP-2."""
    owner = await sign_in_as("owner")
    await _create(owner, title="Pump (B) leaks", priority="high")
    for search, count in (("pump", 1), ("PUMP (b)", 1), (".*", 0), ("  leaks ", 1), ("", 1), ("x" * 64, 0)):
        answer = await owner.get(ORDERS, params={"search": search})
        assert len(answer.json()["data"]["items"]) == count, search
    for params, field in (
        ({"search": "x" * 65}, "search"),
        ({"status": "open"}, "status"),
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"status[$ne]": "done"}, "_"),
        ({"search": "a\x00b"}, "_"),
    ):
        answer = await owner.get(ORDERS, params=params)
        assert (answer.status_code, _field(answer)) == (400, field), params
