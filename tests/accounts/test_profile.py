"""One's own account (PROFILE-1..3), over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.accounts.house import PASSWORD, House

ME, CHANGE = "/api/v1/users/me", "/api/v1/users/me/password"
NEW = "N3wPassword"


async def test_the_profile_needs_a_session(house: House) -> None:
    """PROFILE-1"""
    client = await house.client()
    for answer in (await client.get(ME), await client.patch(ME, json={}), await client.post(CHANGE, json={})):
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")


async def test_a_person_changes_name_and_opts_out(house: House) -> None:
    """PROFILE-2"""
    client, user_id = await house.sign_in_as("user")
    answer = await client.patch(ME, json={"name": "  Renamed "})
    assert (answer.status_code, answer.json()["data"]["name"]) == (200, "Renamed")
    assert await house.feature.accounts.ai_on(user_id)
    assert (await client.patch(ME, json={"aiOptOut": True})).status_code == 200
    assert not await house.feature.accounts.ai_on(user_id)
    stored = await house.user(user_id)
    assert (stored["name"], stored["aiOptOut"], stored["aiEnabled"]) == ("Renamed", True, True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "_"),
        ({"name": "  "}, "name"),
        ({"name": None}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"aiOptOut": "yes"}, "aiOptOut"),
        ({"name": "Ada", "role": "admin"}, "_"),
        ({"name": "Ada", "email": "other@example.com"}, "_"),
        ({"ai_opt_out": True}, "_"),
    ],
)
async def test_a_bad_change_names_its_field_and_changes_nothing(house: House, body: dict[str, Any], field: str) -> None:
    """PROFILE-2, WO-8"""
    client, user_id = await house.sign_in_as("user")
    answer = await client.patch(ME, json=body)
    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == [field]
    assert (await house.user(user_id))["name"] == "Ada Fox"


async def test_ai_is_on_only_when_both_say_so(house: House) -> None:
    """PROFILE-1..3: aiEnabled missing means true"""
    user_id = await house.account()
    accounts, users = house.feature.accounts, house.database["users"]

    async def on(update: dict[str, Any]) -> bool:
        await users.update_one({"_id": user_id}, update)
        return await accounts.ai_on(user_id)

    assert await on({"$unset": {"aiEnabled": "", "aiOptOut": ""}})
    assert not await on({"$set": {"aiEnabled": False}})
    assert await on({"$set": {"aiEnabled": True, "aiOptOut": False}})
    assert not await on({"$set": {"aiOptOut": True}})
    assert not await on({"$set": {"aiOptOut": False, "isActive": False}})


async def test_a_new_password_ends_the_other_sessions_and_rotates_this_one(house: House) -> None:
    """PROFILE-3, AUTH-4"""
    user_id = await house.account(email="ada@example.com")
    here, there = await house.sign_in("ada@example.com"), await house.sign_in("ada@example.com")
    before = here.cookies["refresh_token"]
    answer = await here.post(CHANGE, json={"currentPassword": PASSWORD, "newPassword": NEW})
    assert (answer.status_code, answer.json()["data"]["id"]) == (200, str(user_id))
    assert here.cookies["refresh_token"] != before
    assert (await here.get(ME)).status_code == 200
    assert (await here.post("/api/v1/auth/refresh")).status_code == 200
    assert (await there.get(ME)).status_code == 401
    assert (await there.post("/api/v1/auth/refresh")).json()["error"]["code"] == "REFRESH_REUSE"
    assert [event.reason for event in house.ended] == ["password"]


async def test_a_wrong_current_password_changes_nothing(house: House) -> None:
    """PROFILE-3"""
    client, user_id = await house.sign_in_as("user")
    answer = await client.post(CHANGE, json={"currentPassword": "Wrong0001", "newPassword": NEW})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "AUTH_GENERIC")
    assert (await client.get(ME)).status_code == 200
    assert (await house.user(user_id))["passwordHash"] == house.password_hash


async def test_guessing_the_current_password_locks_as_signing_in_does(house: House) -> None:
    """PROFILE-3, AUTH-11"""
    client, _ = await house.sign_in_as("user")
    for _ in range(5):
        await client.post(CHANGE, json={"currentPassword": "Wrong0001", "newPassword": NEW})
    answer = await client.post(CHANGE, json={"currentPassword": PASSWORD, "newPassword": NEW})
    assert answer.status_code == 401


async def test_a_weak_new_password_is_refused_by_name(house: House) -> None:
    """PROFILE-3, AUTH-1"""
    client, _ = await house.sign_in_as("user")
    answer = await client.post(CHANGE, json={"currentPassword": PASSWORD, "newPassword": "short"})
    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["newPassword"]


async def test_other_features_ask_for_people_by_id(house: House) -> None:
    """HTTP-3: owner {id, name, email}; AUTH-5: a present role, or nobody"""
    accounts = house.feature.accounts
    ada, bob = await house.account("viewer", name="Ada"), await house.account(name="Bob")
    refs = await accounts.refs([ada, bob, bob])
    assert {ref.name for ref in refs.values()} == {"Ada", "Bob"}
    assert refs[ada].id == str(ada)
    actor = await accounts.actor(ada)
    assert actor is not None
    assert actor.role == "viewer"
    await house.database["users"].update_one({"_id": ada}, {"$set": {"isActive": False}})
    assert await accounts.actor(ada) is None
    assert await accounts.count() == 2


async def test_seeding_twice_leaves_the_account_as_it_is(house: House) -> None:
    """003 seeding: idempotent"""
    accounts = house.feature.accounts
    first = await accounts.ensure_user("seed@example.com", PASSWORD, "Seed", "admin")
    client = await house.sign_in("seed@example.com")
    await client.patch(ME, json={"name": "Mine"})
    assert await accounts.ensure_user("seed@example.com", "0therPassword", "Seed", "user") == first
    stored = await house.user(first)
    assert (stored["name"], stored["role"]) == ("Mine", "admin")
