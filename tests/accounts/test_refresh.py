"""Rotation, grace, reuse and silent renewal (AUTH-4, AUTH-5), over HTTP."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta

import httpx

from tests.accounts.house import House

REFRESH = "/api/v1/auth/refresh"
ME = "/api/v1/users/me"


async def _with_refresh(house: House, token: str) -> httpx.AsyncClient:
    return await house.client(Cookie=f"refresh_token={token}")


async def test_only_the_hash_of_a_refresh_token_is_stored(house: House) -> None:
    """AUTH-4, SEC-10"""
    client, user_id = await house.sign_in_as("user")
    token = client.cookies["refresh_token"]
    stored = await house.database["refreshsessions"].find_one({"userId": user_id})
    assert stored is not None
    assert stored["tokenHash"] == hashlib.sha256(token.encode()).hexdigest()
    assert token not in str(stored)
    assert set(stored) == {
        "_id", "userId", "familyId", "tokenHash", "usedAt", "revokedAt", "expiresAt", "createdAt", "userAgent", "ip",
    }  # fmt: skip
    assert stored["expiresAt"] - stored["createdAt"] == timedelta(days=7)


async def test_each_use_rotates_the_token_inside_its_family(house: House) -> None:
    """AUTH-4"""
    client, user_id = await house.sign_in_as("user")
    first = client.cookies["refresh_token"]
    answer = await client.post(REFRESH)
    assert answer.status_code == 200
    assert answer.json()["data"]["id"] == str(user_id)
    assert client.cookies["refresh_token"] != first
    families = await house.database["refreshsessions"].distinct("familyId", {"userId": user_id})
    assert len(families) == 1


async def test_two_tabs_at_once_both_stay_signed_in(house: House) -> None:
    """AUTH-4: the grace"""
    client, _ = await house.sign_in_as("user")
    tabs = [await _with_refresh(house, client.cookies["refresh_token"]) for _ in range(2)]
    answers = await asyncio.gather(*(tab.post(REFRESH) for tab in tabs))
    assert [answer.status_code for answer in answers] == [200, 200]
    siblings = {answer.cookies["refresh_token"] for answer in answers}
    assert len(siblings) == 2
    for sibling in siblings:
        assert (await (await _with_refresh(house, sibling)).post(REFRESH)).status_code == 200


async def test_twenty_at_once_end_in_one_live_family(house: House) -> None:
    """AUTH-4"""
    client, user_id = await house.sign_in_as("user")
    tabs = [await _with_refresh(house, client.cookies["refresh_token"]) for _ in range(20)]
    answers = await asyncio.gather(*(tab.post(REFRESH) for tab in tabs))
    assert {answer.status_code for answer in answers} == {200}
    rows = await house.database["refreshsessions"].find({"userId": user_id}).to_list()
    assert len({row["familyId"] for row in rows}) == 1
    assert not [row for row in rows if row["revokedAt"]]
    assert len([row for row in rows if row["usedAt"] is None]) == 20


async def test_a_spent_token_after_the_grace_ends_the_family_everywhere(house: House) -> None:
    """AUTH-4, AUTH-5: reuse"""
    client, user_id = await house.sign_in_as("user")
    stolen = client.cookies["refresh_token"]
    await client.post(REFRESH)
    house.clock.advance(timedelta(seconds=10, milliseconds=1))
    thief = await _with_refresh(house, stolen)
    answer = await thief.post(REFRESH)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "REFRESH_REUSE")
    assert (await client.get(ME)).status_code == 401
    assert (await client.post(REFRESH)).json()["error"]["code"] == "REFRESH_REUSE"
    assert [(event.user_id, event.reason) for event in house.ended] == [(user_id, "reuse")]


async def test_a_spent_token_at_the_end_of_the_grace_still_gets_a_sibling(house: House) -> None:
    """AUTH-4"""
    client, _ = await house.sign_in_as("user")
    spent = client.cookies["refresh_token"]
    await client.post(REFRESH)
    house.clock.advance(timedelta(seconds=10))
    assert (await (await _with_refresh(house, spent)).post(REFRESH)).status_code == 200


async def test_the_grace_ends_when_the_family_is_revoked(house: House) -> None:
    """AUTH-4"""
    client, _ = await house.sign_in_as("user")
    spent = client.cookies["refresh_token"]
    await client.post(REFRESH)
    await client.post("/api/v1/auth/logout")
    answer = await (await _with_refresh(house, spent)).post(REFRESH)
    assert answer.json()["error"]["code"] == "REFRESH_REUSE"


async def test_a_token_rotated_while_its_session_ends_is_given_to_nobody(house: House) -> None:
    """AUTH-4, AUTH-6: the mark on the person decides, whatever the order of the writes"""
    client, user_id = await house.sign_in_as("user")
    token = client.cookies["refresh_token"]
    row = await house.database["refreshsessions"].find_one({"userId": user_id})
    assert row is not None
    mark = {"sid": row["familyId"], "at": house.clock.now()}
    await house.database["users"].update_one({"_id": user_id}, {"$push": {"revokedSids": mark}})
    answer = await (await _with_refresh(house, token)).post(REFRESH)
    assert answer.json()["error"]["code"] == "REFRESH_REUSE"
    assert await house.database["refreshsessions"].count_documents({"revokedAt": None}) == 0


async def test_refreshing_without_a_known_or_living_token_is_unauthorized(house: House) -> None:
    """AUTH-4"""
    client, _ = await house.sign_in_as("user")
    kept = await _with_refresh(house, client.cookies["refresh_token"])
    nothing, unknown = await house.client(), await _with_refresh(house, "s%3Aold.signature")
    for tab in (nothing, unknown):
        answer = await tab.post(REFRESH)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    house.clock.advance(timedelta(days=7))
    assert (await kept.post(REFRESH)).json()["error"]["code"] == "UNAUTHORIZED"


async def test_the_list_of_revoked_sessions_on_a_person_stays_short(house: House) -> None:
    """AUTH-5: only those young enough to matter are kept"""
    client, user_id = await house.sign_in_as("user")
    await client.post("/api/v1/auth/logout")
    assert len((await house.user(user_id))["revokedSids"]) == 1
    house.clock.advance(timedelta(minutes=21))
    again = await house.sign_in(f"user{house.made}@example.com")
    await again.post("/api/v1/auth/logout")
    assert len((await house.user(user_id))["revokedSids"]) == 1


async def test_a_page_renews_silently_and_json_does_not(house: House) -> None:
    """AUTH-5"""
    client, _ = await house.sign_in_as("user")
    house.clock.advance(timedelta(minutes=16))
    assert (await client.get(ME)).status_code == 401
    page = await client.get("/app/profile")
    assert page.status_code == 200
    assert {"access_token", "refresh_token"} <= set(page.cookies)
    assert (await client.get(ME)).status_code == 200


async def test_ten_pages_at_once_renew_once(house: House) -> None:
    """AUTH-4, AUTH-5: one renewal when ten requests arrive at once"""
    client, user_id = await house.sign_in_as("user")
    token = client.cookies["refresh_token"]
    tabs = [await _with_refresh(house, token) for _ in range(10)]
    answers = await asyncio.gather(*(tab.get("/app/work-orders") for tab in tabs))
    assert {answer.status_code for answer in answers} == {200}
    rows = await house.database["refreshsessions"].find({"userId": user_id}).to_list()
    assert len({row["familyId"] for row in rows}) == 1
    assert not [row for row in rows if row["revokedAt"]]
    assert len(rows) < 11
    newest = await _with_refresh(house, answers[-1].cookies["refresh_token"])
    assert (await newest.post(REFRESH)).status_code == 200


async def test_a_page_that_cannot_renew_clears_the_cookies_and_asks_to_sign_in(house: House) -> None:
    """AUTH-5"""
    client = await _with_refresh(house, "unknown")
    page = await client.get("/app/profile?x=1")
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2Fapp%2Fprofile%3Fx%3D1")
    cleared = page.headers.get_list("set-cookie")
    assert [value for value in cleared if value.startswith("refresh_token=")]


async def test_static_files_and_health_never_touch_the_session(house: House) -> None:
    """AUTH-5"""
    client, user_id = await house.sign_in_as("user")
    house.clock.advance(timedelta(minutes=16))
    for path in ("/health", "/static/css/base.css"):
        await client.get(path)
    assert await house.database["refreshsessions"].count_documents({"userId": user_id}) == 1
