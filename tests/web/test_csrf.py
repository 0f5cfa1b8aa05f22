"""Who may write: tokens for forms and htmx, origins for everything (HTTP-6), from outside over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.accounts.house import csrf_token
from tests.conftest import Server

ORDERS, NEW = "/api/v1/work-orders", "/app/work-orders/new"
FIELDS = {"title": "Pump leaks", "description": "", "priority": "low", "status": "pending"}
SAME = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_enabled": False, "app_url": "https://desk.example.com"}


async def count(client: httpx.AsyncClient) -> int:
    return len((await client.get(ORDERS)).json()["data"]["items"])


async def test_a_form_passes_with_its_token_in_the_body_or_the_header(server: Server) -> None:
    """HTTP-6"""
    owner = await server.sign_in_as("owner")
    token = await csrf_token(owner, NEW)
    by_field = await owner.post(NEW, data=FIELDS | {"_csrf_token": token}, headers=SAME)
    by_header = await owner.post(NEW, data=FIELDS, headers=SAME | {"X-CSRFToken": token, "HX-Request": "true"})
    assert (by_field.status_code, by_header.status_code) == (303, 303)
    assert await count(owner) == 2


async def test_a_form_without_the_right_token_is_refused(server: Server) -> None:
    """HTTP-6: missing, wrong, empty, or made for another visitor's cookie."""
    owner, other = await server.sign_in_as("owner"), await server.client()
    own, foreign = await csrf_token(owner, NEW), await csrf_token(other, "/login")
    assert own != foreign
    for given in ({}, {"_csrf_token": ""}, {"_csrf_token": own[:-1] + "x"}, {"_csrf_token": foreign}):
        answer = await owner.post(NEW, data=FIELDS | given, headers=SAME)
        assert answer.status_code == 403
        assert "out of date" in answer.text
    without_cookie = httpx.Cookies({k: v for k, v in owner.cookies.items() if k != "csrf"})
    async with httpx.AsyncClient(base_url=server.url, cookies=without_cookie, trust_env=False) as bare:
        assert (await bare.post(NEW, data=FIELDS | {"_csrf_token": own}, headers=SAME)).status_code == 403
    assert await count(owner) == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": "https://desk.example.com:8443"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://desk.example.com"},
    ],
)
async def test_a_write_from_elsewhere_is_refused_whatever_token_it_brings(
    server: Server, headers: dict[str, str]
) -> None:
    """HTTP-6"""
    owner = await server.sign_in_as("owner")
    token = await csrf_token(owner, NEW)
    form = await owner.post(NEW, data=FIELDS | {"_csrf_token": token}, headers=headers)
    written = await owner.post(ORDERS, json={"title": "Pump leaks"}, headers=headers)
    assert (form.status_code, written.status_code) == (403, 403)
    assert written.json()["error"]["code"] == "FORBIDDEN"
    assert await count(owner) == 0


async def test_a_json_write_passes_from_our_origin_and_from_a_script(server: Server) -> None:
    """HTTP-6: a script sends neither Origin nor Sec-Fetch-Site; both APP_URL and the request's own host are ours."""
    owner = await server.sign_in_as("owner")
    for headers in ({}, {"Origin": "https://desk.example.com"}, {"Origin": server.url}, SAME):
        answer = await owner.post(ORDERS, json={"title": "Pump leaks"}, headers=headers)
        assert answer.status_code == 201


async def test_reading_from_elsewhere_is_not_hindered(server: Server) -> None:
    """HTTP-6: a link in a mail opens its page."""
    owner = await server.sign_in_as("owner")
    assert (await owner.get("/app/work-orders", headers={"Sec-Fetch-Site": "cross-site"})).status_code == 200
