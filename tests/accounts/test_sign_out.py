"""Signing out, here and everywhere, over HTTP."""

from __future__ import annotations

from tests.accounts.house import House, cookie_attributes


async def test_signing_out_ends_this_session_and_clears_both_cookies(house: House) -> None:
    """AUTH-6, AUTH-5"""
    user_id = await house.account(email="ada@example.com")
    one, other = await house.sign_in("ada@example.com"), await house.sign_in("ada@example.com")
    access, refresh = one.cookies["access_token"], one.cookies["refresh_token"]
    answer = await one.post("/api/v1/auth/logout")
    assert (answer.status_code, answer.content) == (204, b"")
    assert cookie_attributes(answer.headers.get_list("set-cookie")) == {
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
