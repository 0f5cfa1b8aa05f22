"""The desk as it answers with production settings, behind one proxy that speaks TLS."""

from __future__ import annotations

from typing import Any

import pytest

from tests.accounts.house import cookie_attributes
from tests.conftest import CAST, Server


@pytest.fixture
def overrides() -> dict[str, Any]:
    secrets = {name: name[0] * 40 for name in ("jwt_secret", "cookie_secret", "audit_key")}
    return {
        "app_env": "production",
        "app_url": "https://desk.example.com",
        "trust_proxy_hops": 1,
        "ai_enabled": False,
        "ai_allow_local_provider": False,
    } | secrets


async def test_cookies_are_secure_and_transport_is_strict(server: Server) -> None:
    """AUTH-3, AUTH-4, HTTP-6"""
    await server.person("owner")
    client = await server.client()
    page = await client.get("/login")
    assert page.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    (csrf,) = page.headers.get_list("set-cookie")
    assert csrf.startswith("__Host-csrf=")
    assert set(csrf.split("; ")[1:]) == {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"}
    email, password, _, _ = CAST["owner"]
    answer = await client.post("/api/v1/auth/login", json={"email": email, "password": password})
    assert answer.status_code == 200
    assert cookie_attributes(answer.headers.get_list("set-cookie")) == {
        "access_token": ["HttpOnly", "Max-Age=900", "Path=/", "SameSite=Lax", "Secure"],
        "refresh_token": ["HttpOnly", "Max-Age=604800", "Path=/", "SameSite=Lax", "Secure"],
    }


async def test_the_public_address_is_the_desk_s_own_origin(server: Server) -> None:
    """HTTP-6: behind a proxy the browser's Origin is APP_URL's, not the address this process listens on."""
    client = await server.client()
    body = {"email": "nobody@example.com", "password": "Wrong0001"}
    own = await client.post("/api/v1/auth/login", json=body, headers={"Origin": "https://desk.example.com"})
    foreign = await client.post(
        "/api/v1/auth/login", json=body, headers={"Origin": "https://desk.example.com.evil.test"}
    )
    assert (own.status_code, foreign.status_code) == (401, 403)
