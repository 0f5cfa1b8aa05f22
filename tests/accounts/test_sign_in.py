"""Signing in, and failing to, over HTTP."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import jwt

from tests.accounts.house import PASSWORD, House

GENERIC = "AUTH_GENERIC"


async def test_signing_in_resets_failures_and_notes_the_time(house: House) -> None:
    """AUTH-2"""
    user_id = await house.account(email="ada@example.com")
    client = await house.client()
    await client.post("/api/v1/auth/login", json={"email": "ada@example.com", "password": "Wrong0001"})
    assert (await house.user(user_id))["failedLoginCount"] == 1
    answer = await client.post("/api/v1/auth/login", json={"email": "ADA@example.com ", "password": PASSWORD})
    assert answer.status_code == 200
    stored = await house.user(user_id)
    assert (stored["failedLoginCount"], stored["lastLoginAt"]) == (0, house.clock.now())


async def test_every_way_to_fail_answers_the_same_after_the_same_hashing(house: House) -> None:
    """AUTH-2: unknown, wrong, inactive and locked; the work is compared by number, not by time"""
    await house.account(email="ok@example.com")
    inactive = await house.account(email="inactive@example.com")
    locked = await house.account(email="locked@example.com")
    users = house.database["users"]
    await users.update_one({"_id": inactive}, {"$set": {"isActive": False}})
    await users.update_one({"_id": locked}, {"$set": {"lockedUntil": house.clock.now() + timedelta(minutes=1)}})
    tries = [
        ("nobody@example.com", PASSWORD),
        ("ok@example.com", "Wrong0001"),
        ("inactive@example.com", PASSWORD),
        ("locked@example.com", PASSWORD),
    ]
    client, seen = await house.client(), set()
    for email, password in tries:
        before = house.feature.passwords.computations
        answer = await client.post("/api/v1/auth/login", json={"email": email, "password": password})
        body = answer.json()
        body.pop("requestId")
        assert body["error"]["code"] == GENERIC
        seen.add((answer.status_code, str(body), house.feature.passwords.computations - before))
        assert "set-cookie" not in answer.headers
    assert len(seen) == 1
    assert next(iter(seen))[0] == 401
    assert next(iter(seen))[2] == 1


async def test_five_failures_in_fifteen_minutes_lock_for_fifteen(house: House) -> None:
    """AUTH-11"""
    await house.account(email="ada@example.com")
    client = await house.client()

    async def login(password: str) -> int:
        answer = await client.post("/api/v1/auth/login", json={"email": "ada@example.com", "password": password})
        return answer.status_code

    for _ in range(5):
        assert await login("Wrong0001") == 401
    assert await login(PASSWORD) == 401
    house.clock.advance(timedelta(minutes=14, seconds=59))
    assert await login(PASSWORD) == 401
    house.clock.advance(timedelta(seconds=1))
    assert await login(PASSWORD) == 200


async def test_failures_further_apart_than_the_window_do_not_lock(house: House) -> None:
    """AUTH-11"""
    user_id = await house.account(email="ada@example.com")
    client = await house.client()
    for _ in range(4):
        await client.post("/api/v1/auth/login", json={"email": "ada@example.com", "password": "Wrong0001"})
    house.clock.advance(timedelta(minutes=15))
    await client.post("/api/v1/auth/login", json={"email": "ada@example.com", "password": "Wrong0001"})
    stored = await house.user(user_id)
    assert (stored["failedLoginCount"], stored["lockedUntil"]) == (1, None)


async def test_failures_at_the_same_moment_are_all_counted(house: House) -> None:
    """AUTH-11: a burst of guesses locks as five in a row do"""
    await house.account(email="ada@example.com")
    wrong = {"email": "ada@example.com", "password": "Wrong0001"}
    clients = [await house.client() for _ in range(5)]
    await asyncio.gather(*(client.post("/api/v1/auth/login", json=wrong) for client in clients))
    answer = await clients[0].post("/api/v1/auth/login", json={"email": "ada@example.com", "password": PASSWORD})
    assert answer.status_code == 401


async def test_unknown_addresses_count_nothing(house: House) -> None:
    """AUTH-11"""
    client = await house.client()
    for _ in range(6):
        await client.post("/api/v1/auth/login", json={"email": "nobody@example.com", "password": "Wrong0001"})
    assert await house.database["users"].count_documents({}) == 0


async def test_signing_in_always_makes_a_session_of_its_own(house: House) -> None:
    """AUTH-4, session fixation: a planted session is never continued, and no other one is touched"""
    await house.account(email="ada@example.com")
    attacker = await house.sign_in("ada@example.com")
    victim = await house.client(Cookie="; ".join(f"{name}={value}" for name, value in attacker.cookies.items()))
    await victim.post("/api/v1/auth/login", json={"email": "ada@example.com", "password": PASSWORD})
    tokens = [client.cookies["access_token"] for client in (attacker, victim)]
    sids = {jwt.decode(token, options={"verify_signature": False})["sid"] for token in tokens}
    assert len(sids) == 2
    assert (await attacker.get("/api/v1/users/me")).status_code == 200


async def test_role_and_activity_come_from_the_database_at_each_request(house: House) -> None:
    """AUTH-5"""
    client, user_id = await house.sign_in_as("admin")
    users = house.database["users"]
    assert (await client.get("/api/v1/admin/users")).status_code == 200
    await users.update_one({"_id": user_id}, {"$set": {"role": "user"}})
    assert (await client.get("/api/v1/admin/users")).status_code == 403
    await users.update_one({"_id": user_id}, {"$set": {"isActive": False}})
    assert (await client.get("/api/v1/users/me")).json()["error"]["code"] == "UNAUTHORIZED"
