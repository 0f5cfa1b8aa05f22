"""Dispatchers and other people's accounts (AUTH-9, ADM-1..5), over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from bson import ObjectId

from app.accounts.actors import SystemActor
from app.core.errors import Forbidden
from tests.accounts.house import House

USERS = "/api/v1/admin/users"
ADMIN_FIELDS = {
    "id", "email", "name", "role", "createdAt", "updatedAt", "isActive", "lastLoginAt", "aiEnabled",
}  # fmt: skip


async def test_the_list_shows_everyone_newest_first_in_pages(house: House) -> None:
    """ADM-1, HTTP-3, SEC-10"""
    admin, admin_id = await house.sign_in_as("admin")
    ids = [str(await house.account()) for _ in range(24)]
    answer = await admin.get(USERS)
    page = answer.json()["data"]
    assert (page["page"], page["limit"], page["total"], len(page["items"])) == (1, 20, 25, 20)
    assert set(page["items"][0]) == ADMIN_FIELDS
    rest = (await admin.get(USERS, params={"page": 2})).json()["data"]["items"]
    assert [item["id"] for item in page["items"] + rest] == [*reversed(ids), str(admin_id)]
    assert "assword" not in answer.text
    assert "ailedLogin" not in answer.text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"search": "LOVE"}, ["Ada Lovelace"]),
        ({"search": "@mail.test"}, ["Bob (x) 100%", "Ada Lovelace"]),
        ({"search": "(x) 100%"}, ["Bob (x) 100%"]),
        ({"search": ".*"}, []),
        ({"search": "$"}, []),
        ({"role": "viewer"}, ["Bob (x) 100%"]),
        ({"role": "viewer", "search": "ada"}, []),
        ({"search": "  "}, ["Bob (x) 100%", "Ada Lovelace", "Ada Fox"]),
    ],
)
async def test_the_list_is_filtered_by_role_and_by_plain_words(
    house: House, query: dict[str, str], names: list[str]
) -> None:
    """ADM-1: a substring of name or address, never a pattern"""
    admin, _ = await house.sign_in_as("admin")
    await house.account("user", "ada@mail.test", "Ada Lovelace")
    await house.account("viewer", "bob@mail.test", "Bob (x) 100%")
    page = (await admin.get(USERS, params=query)).json()["data"]
    assert [item["name"] for item in page["items"]] == names
    assert page["total"] == len(names)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"page": "0"}, "page"),
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"role": "root"}, "role"),
        ({"search": "x" * 65}, "search"),
    ],
)
async def test_a_bad_query_names_its_field(house: House, query: dict[str, str], field: str) -> None:
    """ADM-1"""
    admin, _ = await house.sign_in_as("admin")
    answer = await admin.get(USERS, params=query)
    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == [field]


@pytest.mark.parametrize("role", ["user", "viewer"])
async def test_only_an_admin_comes_in(house: House, role: Any) -> None:
    """AUTH-9, ADM-1"""
    client, own_id = await house.sign_in_as(role)
    anonymous = await house.client()
    tries = [("GET", USERS, None)] + [
        ("PATCH", f"{USERS}/{own_id}/{what}", body)
        for what, body in (("role", {"role": "admin"}), ("status", {"isActive": True}), ("ai", {"aiEnabled": True}))
    ]
    for method, path, body in tries:
        answer = await client.request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
        assert (await anonymous.request(method, path, json=body)).status_code == 401
    assert (await house.user(own_id))["role"] == role


async def test_the_system_may_not_administer_people(house: House) -> None:
    """SEC-6"""
    with pytest.raises(Forbidden):
        await house.feature.user_admin.set_role(SystemActor(), ObjectId(), "admin")


async def test_a_demotion_bites_at_once_and_ends_the_sessions(house: House) -> None:
    """AUTH-9, AUTH-5"""
    admin, _ = await house.sign_in_as("admin")
    person, person_id = await house.sign_in_as("user")
    answer = await admin.patch(f"{USERS}/{person_id}/role", json={"role": "viewer"})
    assert (answer.status_code, answer.json()["data"]["role"]) == (200, "viewer")
    assert set(answer.json()["data"]) == ADMIN_FIELDS
    assert (await person.get("/api/v1/users/me")).status_code == 401
    assert (await person.post("/api/v1/auth/refresh")).json()["error"]["code"] == "REFRESH_REUSE"
    assert [(event.user_id, event.reason) for event in house.ended] == [(person_id, "role")]


async def test_a_promotion_bites_at_once_and_ends_nothing(house: House) -> None:
    """AUTH-9, AUTH-5"""
    admin, _ = await house.sign_in_as("admin")
    person, person_id = await house.sign_in_as("user")
    await admin.patch(f"{USERS}/{person_id}/role", json={"role": "admin"})
    assert (await person.get(USERS)).status_code == 200
    assert house.ended == []


async def test_a_deactivation_ends_the_sessions_and_activation_lets_in_again(house: House) -> None:
    """AUTH-9, ADM-3"""
    admin, _ = await house.sign_in_as("admin")
    person, person_id = await house.sign_in_as("user")
    answer = await admin.patch(f"{USERS}/{person_id}/status", json={"isActive": False})
    assert answer.json()["data"]["isActive"] is False
    assert (await person.get("/api/v1/users/me")).json()["error"]["code"] == "UNAUTHORIZED"
    assert [(event.user_id, event.reason) for event in house.ended] == [(person_id, "deactivated")]
    await admin.patch(f"{USERS}/{person_id}/status", json={"isActive": True})
    assert (await person.get("/api/v1/users/me")).status_code == 401
    assert (await house.sign_in(f"user{house.made}@example.com")).cookies


async def test_nobody_changes_their_own_role_or_status(house: House) -> None:
    """AUTH-9"""
    admin, own_id = await house.sign_in_as("admin")
    await house.account("admin")
    for what, body in (("role", {"role": "user"}), ("role", {"role": "admin"}), ("status", {"isActive": False})):
        answer = await admin.patch(f"{USERS}/{own_id}/{what}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    stored = await house.user(own_id)
    assert (stored["role"], stored["isActive"]) == ("admin", True)


@pytest.mark.parametrize(("what", "body"), [("role", {"role": "user"}), ("status", {"isActive": False})])
async def test_of_two_admins_who_depose_each_other_at_once_one_remains(
    house: House, what: str, body: dict[str, Any]
) -> None:
    """AUTH-9: the leased lock serialises them"""
    (one, one_id), (two, two_id) = await house.sign_in_as("admin"), await house.sign_in_as("admin")
    for _ in range(5):
        answers = await asyncio.gather(
            one.patch(f"{USERS}/{two_id}/{what}", json=body), two.patch(f"{USERS}/{one_id}/{what}", json=body)
        )
        assert sorted(answer.status_code for answer in answers) in ([200, 401], [200, 403])
        users = house.database["users"]
        assert await users.count_documents({"role": "admin", "isActive": True}) == 1
        await users.update_many({}, {"$set": {"role": "admin", "isActive": True}})
        one, two = await house.sign_in("admin1@example.com"), await house.sign_in("admin2@example.com")


async def test_a_lock_that_a_dead_process_held_is_free_after_its_lease(house: House) -> None:
    """AUTH-9"""
    admin, _ = await house.sign_in_as("admin")
    person_id = await house.account()
    await house.database["locks"].insert_one({"_id": "admin-roles", "holder": "dead", "until": house.clock.now()})
    answer = await admin.patch(f"{USERS}/{person_id}/role", json={"role": "viewer"})
    assert answer.status_code == 200


async def test_the_admin_switches_ai_off_for_one_person(house: House) -> None:
    """ADM-4, PROFILE-1..3"""
    admin, own_id = await house.sign_in_as("admin")
    person_id = await house.account()
    answer = await admin.patch(f"{USERS}/{person_id}/ai", json={"aiEnabled": False})
    assert answer.json()["data"]["aiEnabled"] is False
    assert not await house.feature.accounts.ai_on(person_id)
    assert (await admin.patch(f"{USERS}/{own_id}/ai", json={"aiEnabled": False})).status_code == 200


@pytest.mark.parametrize(
    ("what", "body", "field"),
    [
        ("role", {"role": "root"}, "role"),
        ("role", {}, "role"),
        ("status", {"isActive": "no"}, "isActive"),
        ("ai", {"aiEnabled": 0}, "aiEnabled"),
        ("ai", {"aiEnabled": True, "x": 1}, "_"),
    ],
)
async def test_a_bad_change_names_its_field(house: House, what: str, body: dict[str, Any], field: str) -> None:
    """ADM-2..4, WO-8"""
    admin, _ = await house.sign_in_as("admin")
    answer = await admin.patch(f"{USERS}/{await house.account()}/{what}", json=body)
    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == [field]


async def test_an_unknown_person_is_404_and_a_malformed_id_400(house: House) -> None:
    """ADM-2"""
    admin, _ = await house.sign_in_as("admin")
    for what, body in (("role", {"role": "user"}), ("status", {"isActive": True}), ("ai", {"aiEnabled": True})):
        assert (await admin.patch(f"{USERS}/{ObjectId()}/{what}", json=body)).status_code == 404
        assert (await admin.patch(f"{USERS}/nonsense/{what}", json=body)).status_code == 400
