"""What every answer carries, from outside over HTTP."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conftest import Server

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "strict-origin-when-cross-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_enabled": False}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/login", 200),
        ("/health", 200),
        ("/api/v1/users/me", 401),
        ("/api/openapi.json", 200),
        ("/nothing/here", 404),
        ("/api/v1/nothing", 404),
        ("/static/icon.svg", 200),
        ("/static/nothing.css", 404),
        ("/app/profile", 303),
    ],
)
async def test_every_answer_carries_the_security_headers(server: Server, path: str, status: int) -> None:
    """HTTP-6: pages, JSON, redirects, files, and what is not there."""
    answer = await (await server.client()).get(path)
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS
    policy = answer.headers["content-security-policy"]
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= set(
        policy.split("; ")
    )
    assert "unsafe" not in policy
    assert "strict-transport-security" not in answer.headers


@pytest.mark.parametrize("path", ["/login", "/api/v1/nothing", "/nothing/here", "/static/icon.svg"])
async def test_a_request_id_is_echoed_or_made(server: Server, path: str) -> None:
    """HTTP-2: what is no plain token is replaced, so that no log line is forged."""
    client = await server.client()
    assert (await client.get(path, headers={"X-Request-Id": "order-42.a_b"})).headers["x-request-id"] == "order-42.a_b"
    for planted in ({}, {"X-Request-Id": "a b"}, {"X-Request-Id": "x" * 65}):
        made = (await client.get(path, headers=planted)).headers["x-request-id"]
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made)


async def test_the_request_id_of_a_failure_is_the_one_in_its_header(server: Server) -> None:
    """HTTP-2"""
    answer = await (await server.client()).get("/api/v1/users/me")
    assert answer.json()["requestId"] == answer.headers["x-request-id"]
