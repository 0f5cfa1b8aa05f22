"""Registering, signing in and out, over HTTP."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import jwt
import pytest

from tests.accounts.house import PASSWORD, House

NEW = {"email": " New.Person@Example.com ", "password": PASSWORD, "name": "  New Person "}
GENERIC = "AUTH_GENERIC"


async def test_registering_trims_lowers_and_signs_in(house: House) -> None:
    """AUTH-1, HTTP-3, SEC-10"""
    client = await house.client()
    answer = await client.post("/api/v1/auth/register", json=NEW)
    assert answer.status_code == 201
    data = answer.json()["data"]
    assert set(data) == {"id", "email", "name", "role", "createdAt", "updatedAt"}
    assert (data["email"], data["name"], data["role"]) == ("new.person@example.com", "New Person", "user")
    assert data["createdAt"].endswith("Z")
    assert len(data["createdAt"]) == 24
    assert (await client.get("/api/v1/users/me")).json()["data"] == data


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"password": "Ab1"}, ["password"]),
        ({"password": "Abcdefgh"}, ["password"]),
        ({"password": "12345678"}, ["password"]),
        ({"password": "a1" * 37}, ["password"]),
        ({"password": "Passw0rd\u0000"}, ["_"]),
        ({"email": "nope"}, ["email"]),
        ({"email": "two@at@example.com"}, ["email"]),
        ({"email": "a\r\nBcc: x@example.com"}, ["email"]),
        ({"email": "a" * 251 + "@b.co"}, ["email"]),
        ({"name": "   "}, ["name"]),
        ({"name": "x" * 81}, ["name"]),
        ({"role": "admin"}, ["_"]),
        ({"email": 5}, ["email"]),
    ],
)
async def test_registering_with_bad_values_names_each_field(
    house: House, change: dict[str, object], fields: list[str]
) -> None:
    """AUTH-1, WO-8, HTTP-2"""
    client = await house.client()
    answer = await client.post("/api/v1/auth/register", json=NEW | change)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert [detail["field"] for detail in error["details"]] == fields
    assert "set-cookie" not in answer.headers


async def test_registering_with_nothing_names_every_field_in_order(house: House) -> None:
    """AUTH-1"""
    answer = await (await house.client()).post("/api/v1/auth/register", json={})
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["email", "password", "name"]


@pytest.mark.parametrize("email", ["a@b.co", "first+tag@desk.test", "o'neil_x-1@sub.example.com"])
async def test_plain_addresses_are_accepted(house: House, email: str) -> None:
    """AUTH-1"""
    answer = await (await house.client()).post("/api/v1/auth/register", json=NEW | {"email": email})
    assert answer.status_code == 201


async def test_of_two_who_register_one_address_at_once_one_is_told_it_is_taken(house: House) -> None:
    """AUTH-1: EMAIL_TAKEN comes from the unique index"""
    one, two = await house.client(), await house.client()
    answers = await asyncio.gather(
        one.post("/api/v1/auth/register", json=NEW),
        two.post("/api/v1/auth/register", json=NEW | {"email": "NEW.person@example.COM"}),
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    loser = next(answer for answer in answers if answer.status_code == 409)
    assert loser.json()["error"]["code"] == "EMAIL_TAKEN"


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


async def test_cookies_carry_exactly_the_attributes_of_the_contract(house: House) -> None:
    """AUTH-3, AUTH-4"""
    answer = await (await house.client()).post("/api/v1/auth/register", json=NEW)
    cookies = _attributes(answer.headers.get_list("set-cookie"))
    assert cookies == {
        "access_token": ["HttpOnly", "Max-Age=900", "Path=/", "SameSite=Lax"],
        "refresh_token": ["HttpOnly", "Max-Age=604800", "Path=/", "SameSite=Lax"],
    }


async def test_the_access_token_says_who_and_for_how_long(house: House) -> None:
    """AUTH-3"""
    client = await house.client()
    data = (await client.post("/api/v1/auth/register", json=NEW)).json()["data"]
    claims = jwt.decode(
        client.cookies["access_token"], "j" * 40, algorithms=["HS256"], audience="workorders-api", issuer="workorders"
    )
    assert set(claims) == {"sub", "role", "sid", "iss", "aud", "iat", "exp"}
    assert (claims["sub"], claims["role"], claims["exp"] - claims["iat"]) == (data["id"], "user", 900)


async def test_only_a_token_signed_by_us_and_not_expired_opens(house: House) -> None:
    """AUTH-3, AUTH-5"""
    client, user_id = await house.sign_in_as("user")
    token = client.cookies["access_token"]
    sid = jwt.decode(token, options={"verify_signature": False})["sid"]
    now = int(house.clock.now().timestamp())
    good = {"sub": str(user_id), "role": "user", "sid": sid, "iss": "workorders", "aud": "workorders-api", "iat": now}

    async def status(value: str) -> int:
        other = await house.client(Cookie=f"access_token={value}")
        return (await other.get("/api/v1/users/me")).status_code

    def signed(key: str = "j" * 40, algorithm: str = "HS256", **changes: object) -> str:
        return jwt.encode(good | {"exp": now + 900} | changes, key, algorithm=algorithm)

    assert await status(signed()) == 200
    refused = [
        signed(key="x" * 40),
        signed(iss="other"),
        signed(aud="other"),
        signed(exp=now),
        signed(sub="not-an-id"),
        jwt.encode(good | {"exp": now + 900}, "", algorithm="none"),
        jwt.encode(good, "j" * 40, algorithm="HS256"),
        token[:-2],
        "nonsense",
    ]
    assert [await status(value) for value in refused] == [401] * len(refused)


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


async def test_signing_out_ends_this_session_and_clears_both_cookies(house: House) -> None:
    """AUTH-6, AUTH-5"""
    user_id = await house.account(email="ada@example.com")
    one, other = await house.sign_in("ada@example.com"), await house.sign_in("ada@example.com")
    access, refresh = one.cookies["access_token"], one.cookies["refresh_token"]
    answer = await one.post("/api/v1/auth/logout")
    assert (answer.status_code, answer.content) == (204, b"")
    assert _attributes(answer.headers.get_list("set-cookie")) == {
        "access_token": ["HttpOnly", "Path=/", "SameSite=Lax"],
        "refresh_token": ["HttpOnly", "Path=/", "SameSite=Lax"],
    }
    assert not one.cookies
    old = await house.client(Cookie=f"access_token={access}; refresh_token={refresh}")
    assert (await old.get("/api/v1/users/me")).status_code == 401
    assert (await old.post("/api/v1/auth/refresh")).json()["error"]["code"] == "REFRESH_REUSE"
    assert (await other.get("/api/v1/users/me")).status_code == 200
    assert [(event.user_id, event.reason) for event in house.ended] == [(user_id, "logout")]


async def test_signing_out_with_only_the_refresh_token_ends_its_session(house: House) -> None:
    """AUTH-6: an expired access token is no way to keep a session alive"""
    await house.account(email="ada@example.com")
    client = await house.sign_in("ada@example.com")
    refresh = client.cookies["refresh_token"]
    client.cookies.delete("access_token")
    assert (await client.post("/api/v1/auth/logout")).status_code == 204
    old = await house.client(Cookie=f"refresh_token={refresh}")
    assert (await old.post("/api/v1/auth/refresh")).json()["error"]["code"] == "REFRESH_REUSE"


async def test_signing_out_everywhere_ends_every_session(house: House) -> None:
    """AUTH-6, AUTH-5"""
    user_id = await house.account(email="ada@example.com")
    await house.account(email="bob@example.com")
    clients = [await house.sign_in("ada@example.com") for _ in range(3)]
    bystander = await house.sign_in("bob@example.com")
    assert (await clients[0].post("/api/v1/auth/logout-all")).status_code == 204
    for client in clients[1:]:
        assert (await client.get("/api/v1/users/me")).status_code == 401
        assert (await client.post("/api/v1/auth/refresh")).json()["error"]["code"] == "REFRESH_REUSE"
    assert (await bystander.get("/api/v1/users/me")).status_code == 200
    assert ("logout-all", user_id) in {(event.reason, event.user_id) for event in house.ended}
    assert (await house.sign_in("ada@example.com")).cookies


async def test_signing_out_everywhere_needs_a_session(house: House) -> None:
    """AUTH-6"""
    answer = await (await house.client()).post("/api/v1/auth/logout-all")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")


async def test_role_and_activity_come_from_the_database_at_each_request(house: House) -> None:
    """AUTH-5"""
    client, user_id = await house.sign_in_as("admin")
    users = house.database["users"]
    assert (await client.get("/api/v1/admin/users")).status_code == 200
    await users.update_one({"_id": user_id}, {"$set": {"role": "user"}})
    assert (await client.get("/api/v1/admin/users")).status_code == 403
    await users.update_one({"_id": user_id}, {"$set": {"isActive": False}})
    assert (await client.get("/api/v1/users/me")).json()["error"]["code"] == "UNAUTHORIZED"


def _attributes(headers: list[str]) -> dict[str, list[str]]:
    """Per cookie its attributes, `Expires` aside (which each must have), `Domain` and `Secure` included if there."""
    found = {}
    for header in headers:
        pair, *attributes = header.split("; ")
        assert any(attribute.startswith("Expires=") or attribute.startswith("expires=") for attribute in attributes)
        found[pair.split("=", 1)[0]] = sorted(a for a in attributes if not a.lower().startswith("expires="))
    return found
