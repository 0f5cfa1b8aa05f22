"""The way back in after a forgotten password (AUTH-7), over HTTP."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest

from app.core.ids import token_hash
from tests.accounts.house import PASSWORD, House

FORGOT, RESET = "/api/v1/auth/forgot-password", "/api/v1/auth/reset-password"
NEW = "N3wPassword"


async def _asked(house: House, email: str) -> tuple[httpx.AsyncClient, str]:
    client = await house.client()
    await client.post(FORGOT, json={"email": email})
    return client, (await house.mailbox.next()).token


async def test_the_answer_never_tells_whether_an_account_exists(house: House) -> None:
    """AUTH-7"""
    await house.account(email="ada@example.com")
    inactive = await house.account(email="off@example.com")
    await house.database["users"].update_one({"_id": inactive}, {"$set": {"isActive": False}})
    client = await house.client()
    answers = [
        await client.post(FORGOT, json={"email": email})
        for email in ("ada@example.com", "nobody@example.com", "off@example.com")
    ]
    assert {(answer.status_code, answer.text) for answer in answers} == {(200, '{"success":true,"data":{"ok":true}}')}
    await house.feature.sign_in.settled()
    mail = await house.mailbox.next()
    assert mail.to == "ada@example.com"
    assert house.mailbox.empty


async def test_the_mail_holds_a_link_and_the_database_only_its_hash(house: House) -> None:
    """AUTH-7, SEC-10"""
    user_id = await house.account(email="ada@example.com")
    client = await house.client()
    await client.post(FORGOT, json={"email": " ADA@example.com"})
    mail = await house.mailbox.next()
    assert f"http://desk.test/reset-password?token={mail.token}\n" in mail.text
    reset = (await house.user(user_id))["passwordReset"]
    assert reset == {"tokenHash": token_hash(mail.token), "expiresAt": house.clock.now() + timedelta(hours=1)}


async def test_a_reset_ends_every_session_and_signs_in(house: House) -> None:
    """AUTH-7, AUTH-5"""
    user_id = await house.account(email="ada@example.com")
    before = await house.sign_in("ada@example.com")
    client, token = await _asked(house, "ada@example.com")
    answer = await client.post(RESET, json={"token": token, "password": NEW})
    assert answer.status_code == 200
    assert answer.json()["data"]["id"] == str(user_id)
    assert (await client.get("/api/v1/users/me")).status_code == 200
    assert (await before.get("/api/v1/users/me")).status_code == 401
    assert (await before.post("/api/v1/auth/refresh")).json()["error"]["code"] == "REFRESH_REUSE"
    assert [event.reason for event in house.ended] == ["password"]
    login = "/api/v1/auth/login"
    assert (await client.post(login, json={"email": "ada@example.com", "password": PASSWORD})).status_code == 401
    assert (await client.post(login, json={"email": "ada@example.com", "password": NEW})).status_code == 200


async def test_a_reset_unlocks(house: House) -> None:
    """AUTH-7, AUTH-11"""
    user_id = await house.account(email="ada@example.com")
    locked = {"failedLoginCount": 5, "lockedUntil": house.clock.now() + timedelta(minutes=10)}
    await house.database["users"].update_one({"_id": user_id}, {"$set": locked})
    client, token = await _asked(house, "ada@example.com")
    await client.post(RESET, json={"token": token, "password": NEW})
    answer = await client.post("/api/v1/auth/login", json={"email": "ada@example.com", "password": NEW})
    assert answer.status_code == 200


async def test_of_two_resets_with_one_token_at_once_one_wins(house: House) -> None:
    """AUTH-7: single use"""
    await house.account(email="ada@example.com")
    client, token = await _asked(house, "ada@example.com")
    other = await house.client()
    answers = await asyncio.gather(
        client.post(RESET, json={"token": token, "password": NEW}),
        other.post(RESET, json={"token": token, "password": "0therPassword"}),
    )
    assert sorted(answer.status_code for answer in answers) == [200, 400]


async def test_a_newer_token_replaces_the_older(house: House) -> None:
    """AUTH-7"""
    await house.account(email="ada@example.com")
    client, first = await _asked(house, "ada@example.com")
    _, second = await _asked(house, "ada@example.com")
    assert (await client.post(RESET, json={"token": first, "password": NEW})).status_code == 400
    assert (await client.post(RESET, json={"token": second, "password": NEW})).status_code == 200


@pytest.mark.parametrize("late", [False, True])
async def test_an_unknown_or_expired_token_is_refused_by_name(house: House, late: bool) -> None:
    """AUTH-7"""
    await house.account(email="ada@example.com")
    client, token = await _asked(house, "ada@example.com")
    house.clock.advance(timedelta(hours=1) if late else timedelta())
    answer = await client.post(RESET, json={"token": token if late else "nope", "password": NEW})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["token"]


async def test_a_sign_in_with_the_old_password_during_a_reset_does_not_outlive_it(house: House) -> None:
    """AUTH-2, AUTH-7: a person whose password changed since they were read is not signed in"""
    user_id = await house.account(email="ada@example.com")
    await house.database["users"].update_one({"_id": user_id}, {"$set": {"lastLoginAt": None}})
    passwords, verify = house.feature.passwords, house.feature.passwords.verify

    async def verify_then_reset(password: str, stored: str | None) -> bool:
        matches = await verify(password, stored)
        await house.database["users"].update_one({"_id": user_id}, {"$inc": {"passwordVersion": 1}})
        return matches

    passwords.verify = verify_then_reset  # type: ignore[method-assign]
    client = await house.client()
    answer = await client.post("/api/v1/auth/login", json={"email": "ada@example.com", "password": PASSWORD})
    assert answer.status_code == 401
    assert await house.database["refreshsessions"].count_documents({"revokedAt": None}) == 0
