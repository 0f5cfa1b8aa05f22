"""Lists read their person in the very query that answers: as strict as anywhere else, and of the same shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from bson import ObjectId

from app.accounts.service import AccountsService
from tests.conftest import Server

OWN, EVERYONES = "/api/v1/work-orders", "/api/v1/admin/work-orders"
LISTS = [OWN, EVERYONES, "/app/work-orders", "/app/admin/work-orders"]
SignInAs = Callable[[str], Awaitable[httpx.AsyncClient]]


async def _change(server: Server, who: str, update: dict[str, Any]) -> None:
    person = await server.person(who)
    await server.desk.database["users"].update_one({"_id": person.id}, update)


async def _sid(server: Server) -> str:
    session = await server.desk.database["refreshsessions"].find_one({}, sort=[("createdAt", -1), ("_id", -1)])
    assert session is not None
    return str(session["familyId"])


@pytest.mark.parametrize("query", ["", "?limit=5", "?search=pump", "?limit=nothing"])
@pytest.mark.parametrize("path", LISTS)
async def test_a_deactivated_person_sees_no_list_from_the_next_request_on(
    server: Server, sign_in_as: SignInAs, path: str, query: str
) -> None:
    """AUTH-5: nor is told what was wrong with the query."""
    dispatcher = await sign_in_as("dispatcher")
    assert (await dispatcher.get(path)).status_code == 200
    await _change(server, "dispatcher", {"$set": {"isActive": False}})
    answer = await dispatcher.get(path + query)
    assert answer.status_code == (401 if path.startswith("/api/") else 303)
    assert "items" not in answer.text
    assert "order-list" not in answer.text


@pytest.mark.parametrize("path", LISTS)
async def test_a_revoked_session_sees_no_list(server: Server, sign_in_as: SignInAs, path: str) -> None:
    """AUTH-5, AUTH-6"""
    dispatcher = await sign_in_as("dispatcher")
    mark = {"sid": await _sid(server), "at": datetime.now(UTC)}
    await _change(server, "dispatcher", {"$push": {"revokedSids": mark}})
    assert (await dispatcher.get(path)).status_code == (401 if path.startswith("/api/") else 303)


@pytest.mark.parametrize("path", [EVERYONES, "/app/admin/work-orders"])
@pytest.mark.parametrize("query", ["", "?status=pending", "?search=pump"])
async def test_a_demoted_dispatcher_sees_everyones_orders_no_more(
    server: Server, sign_in_as: SignInAs, path: str, query: str
) -> None:
    """AUTH-5, ADM-5: the role in the token is for nothing."""
    dispatcher, technician = await sign_in_as("dispatcher"), await sign_in_as("owner")
    assert (await technician.get(path + query)).status_code == 403
    await _change(server, "dispatcher", {"$set": {"role": "user"}})
    assert (await dispatcher.get(path + query)).status_code == 403


async def test_a_person_without_orders_is_told_so_and_not_sent_away(sign_in_as: SignInAs) -> None:
    """WO-2, AUTH-5: the person is there without any order beside them."""
    answer = await (await sign_in_as("owner")).get(OWN)
    assert answer.json() == {"success": True, "data": {"items": [], "nextCursor": None}}


async def test_a_plain_list_asks_for_its_person_in_no_query_of_their_own(
    server: Server, sign_in_as: SignInAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUTH-5"""
    owner, asked = await sign_in_as("owner"), list[ObjectId]()

    async def person(_self: AccountsService, user_id: ObjectId, _sid: str) -> None:
        asked.append(user_id)

    monkeypatch.setattr(AccountsService, "person", person)
    assert [(await owner.get(path)).status_code for path in (OWN, "/app/work-orders")] == [200, 200]
    assert asked == []


async def test_an_order_in_a_list_is_as_it_is_alone(server: Server, sign_in_as: SignInAs) -> None:
    """HTTP-3: lists are written by a shorter way, which must not show; the owner who is gone included."""
    owner, dispatcher = await sign_in_as("owner"), await sign_in_as("dispatcher")
    for fields in ({"title": 'Quote " and \\ and \u2028 é 😀'}, {"title": "Lift", "description": "<b>\n\ttwo</b>"}):
        assert (await owner.post(OWN, json=fields)).status_code == 201
    gone = {"_id": ObjectId(), "title": "Old one", "owner": ObjectId(), "createdAt": datetime(2020, 1, 2, tzinfo=UTC)}
    await server.desk.database["workorders"].insert_one(gone | {"deletedAt": None})
    for path, client in ((OWN, owner), (EVERYONES, dispatcher)):
        items = (await client.get(path)).json()["data"]["items"]
        assert len(items) == (2 if path == OWN else 3)
        for item in items:
            assert item == (await client.get(f"{OWN}/{item['id']}")).json()["data"]
