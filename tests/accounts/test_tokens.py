"""The two cookies and what is in them, over HTTP."""

from __future__ import annotations

import jwt
import pytest

from tests.accounts.house import PASSWORD, House, cookie_attributes

NEW = {"email": " New.Person@Example.com ", "password": PASSWORD, "name": "  New Person "}


async def test_cookies_carry_exactly_the_attributes_of_the_contract(house: House) -> None:
    """AUTH-3, AUTH-4"""
    answer = await (await house.client()).post("/api/v1/auth/register", json=NEW)
    cookies = cookie_attributes(answer.headers.get_list("set-cookie"))
    assert cookies == {
        "access_token": ["HttpOnly", "Max-Age=900", "Path=/", "SameSite=Lax"],
        "refresh_token": ["HttpOnly", "Max-Age=604800", "Path=/", "SameSite=Lax"],
    }


@pytest.mark.parametrize(
    "overrides",
    [
        {
            "app_env": "production",
            "app_url": "https://desk.test",
            "jwt_secret": "j" * 40,
            "cookie_secret": "c" * 40,
            "audit_key": "a" * 40,
            "ai_enabled": False,
            "ai_allow_local_provider": False,
            "trust_proxy_hops": 1,
        }
    ],
)
async def test_in_production_both_cookies_are_secure(house: House) -> None:
    """AUTH-3, AUTH-4"""
    answer = await (await house.client()).post("/api/v1/auth/register", json=NEW)
    attributes = cookie_attributes(answer.headers.get_list("set-cookie"))
    assert set(attributes) == {"access_token", "refresh_token"}
    assert all("Secure" in cookie for cookie in attributes.values())


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
