"""What may come in: size, content type, strict JSON, keys (HTTP-2), from outside over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.conftest import Server

ORDERS = "/api/v1/work-orders"
JSON = {"Content-Type": "application/json"}
LIMIT = 32_768


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_enabled": False}


@pytest.fixture
async def owner(server: Server) -> httpx.AsyncClient:
    return await server.sign_in_as("owner")


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
async def test_a_body_that_is_not_declared_json_is_refused(owner: httpx.AsyncClient, kind: str | None) -> None:
    """HTTP-2"""
    headers = {} if kind is None else {"Content-Type": kind}
    answer = await owner.post(ORDERS, content=b'{"title": "Pump leaks"}', headers=headers)
    assert code(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_json_of_any_spelling_is_taken_and_no_body_needs_no_type(owner: httpx.AsyncClient) -> None:
    """HTTP-2"""
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"):
        answer = await owner.post(ORDERS, content=b'{"title": "Pump leaks"}', headers={"Content-Type": kind})
        assert answer.status_code == 201
    assert (await owner.post("/api/v1/auth/logout")).status_code == 204


async def test_an_empty_body_where_one_is_needed_is_told_plainly(owner: httpx.AsyncClient) -> None:
    """HTTP-2: it is a fault of the whole, not of a field."""
    answer = await owner.post(ORDERS)
    assert code(answer) == (400, "VALIDATION_ERROR")
    assert answer.json()["error"]["details"] == [{"field": "_", "message": "Send a JSON object as the body."}]


@pytest.mark.parametrize(
    "body",
    [
        {"title": {"$gt": ""}},
        {"title": "Pump leaks", "$where": "1"},
        {"title": "Pump leaks", "description": [[{"a": {"__proto__": {}}}]]},
        {"title": "Pump leaks", "constructor": {"name": "x"}},
    ],
)
async def test_operator_keys_are_refused_wherever_they_stand(owner: httpx.AsyncClient, body: dict[str, Any]) -> None:
    """HTTP-2"""
    answer = await owner.post(ORDERS, json=body)
    assert code(answer) == (400, "VALIDATION_ERROR")
    assert "not allowed" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "query",
    [
        "$where=1",
        "status[$ne]=done",
        "status%5B%24ne%5D=done",
        "a[b][__proto__]=1",
        "constructor=1",
        "a.$gt=1",
        "search=a%00b",
    ],
)
async def test_operator_keys_and_nul_in_the_query_are_refused(owner: httpx.AsyncClient, query: str) -> None:
    """HTTP-2: on pages too."""
    assert code(await owner.get(f"{ORDERS}?{query}")) == (400, "VALIDATION_ERROR")
    assert (await owner.get(f"/app/work-orders?{query}")).status_code == 400


@pytest.mark.parametrize("text", [r"a\u0000bc", r"Pump \ud83d", r"\udd27 pump"])
async def test_nul_and_half_a_character_are_refused(owner: httpx.AsyncClient, text: str) -> None:
    """HTTP-2"""
    answer = await owner.post(ORDERS, content=f'{{"title": "{text}"}}'.encode(), headers=JSON)
    assert code(answer) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "body", [b'{"title": NaN}', b'{"title": "a", "title": "b"}', b"[", b'{"title": "abc"} x', b"\xff"]
)
async def test_what_is_not_strict_json_is_refused(owner: httpx.AsyncClient, body: bytes) -> None:
    """HTTP-2"""
    answer = await owner.post(ORDERS, content=body, headers=JSON)
    assert code(answer) == (400, "VALIDATION_ERROR")
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["_"]


async def test_a_large_body_is_refused_with_and_without_its_length(owner: httpx.AsyncClient) -> None:
    """HTTP-2: at 32 kB it is read, one byte more is not."""
    fits = json.dumps({"title": "Pump leaks", "description": ""}).encode()
    fits += b" " * (LIMIT - len(fits))

    async def pieces(body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 5_000):
            yield body[start : start + 5_000]

    for body, status in ((fits, 201), (fits + b" ", 413)):
        assert (await owner.post(ORDERS, content=body, headers=JSON)).status_code == status
        chunked = await owner.post(ORDERS, content=pieces(body), headers=JSON)
        assert "content-length" not in chunked.request.headers
        assert chunked.status_code == status
    assert code(chunked) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("limit=0", "Must be at least 1."),
        ("limit=101", "Must be at most 100."),
        ("limit=x", "Must be a whole number."),
        ("status=open", "Is not one of the allowed values."),
        ("search=" + "x" * 65, "Must be at most 64 characters."),
    ],
)
async def test_a_bad_parameter_is_told_in_plain_words(owner: httpx.AsyncClient, query: str, words: str) -> None:
    """HTTP-2"""
    answer = await owner.get(f"{ORDERS}?{query}")
    assert code(answer) == (400, "VALIDATION_ERROR")
    assert answer.json()["error"]["details"] == [{"field": query.split("=", maxsplit=1)[0], "message": words}]
