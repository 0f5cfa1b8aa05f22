"""The original desk's recorded exchanges about work orders, replayed against this one (HTTP-2, HTTP-3)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import Server

RECORDED = Path(__file__).resolve().parents[1] / "data" / "wire" / "exchanges.json"
CAST = {"user": "owner", "user2": "stranger", "admin": "dispatcher", "viewer": "viewer"}
PATHS = ("/api/v1/work-orders", "/api/v1/admin/work-orders")
KNOWN_DIFFERENCES = {"too large": 413}
"""Where the contract wins over the recording (its README)."""
PLACEHOLDER = re.compile(r"<[a-z0-9]+>\Z")
LONG = re.compile(r".*…<(\d+) characters>\Z", re.DOTALL)


def _exchanges() -> list[dict[str, Any]]:
    return [one for one in json.loads(RECORDED.read_text()) if one["request"]["path"].startswith(PATHS)]


def _expanded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _expanded(item) for key, item in value.items()}
    long = LONG.match(value) if isinstance(value, str) else None
    return "x" * int(long.group(1)) if long else value


async def _send(client: httpx.AsyncClient, request: dict[str, Any], ids: dict[str, str]) -> httpx.Response:
    path = request["path"].replace("<id>", "0" * 24)
    for placeholder, value in ids.items():
        path = path.replace(placeholder, value)
    if "raw" in request:
        return await client.request(request["method"], path, content=request["raw"], headers=request["headers"])
    body = {"json": _expanded(request["json"])} if "json" in request else {}
    return await client.request(request["method"], path, **body)


def _same(expected: Any, actual: Any, where: str) -> None:
    """Equal, but for ids, times, cursors, people's names and our own words."""
    if isinstance(expected, dict):
        assert isinstance(actual, dict), where
        assert list(actual) == list(expected), where
        for key in expected:
            if key != "owner":
                _same(expected[key], actual[key], f"{where}.{key}")
        if "owner" in expected:
            assert list(actual["owner"]) == ["id", "name", "email"], where
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            _same(one, other, f"{where}[{number}]")
    elif isinstance(expected, str) and PLACEHOLDER.match(expected):
        assert isinstance(actual, str), where
        assert actual, where
    else:
        assert actual == expected, where


async def test_the_recorded_exchanges_replay_with_the_same_statuses_codes_and_shapes(server: Server) -> None:
    """HTTP-2, HTTP-3, WO-1, WO-3, WO-4, WO-5, WO-6, WO-7, WO-8, WO-10, ADM-1..5."""
    clients = {name: await server.sign_in_as(who) for name, who in CAST.items()}
    ids: dict[str, str] = {}
    exchanges = _exchanges()
    assert len(exchanges) > 40
    for exchange in exchanges:
        note = exchange["note"]
        answer = await _send(clients[exchange["as"]], exchange["request"], ids)
        recorded = exchange["response"]
        assert answer.status_code == KNOWN_DIFFERENCES.get(note, recorded["status"]), f"{note}: {answer.text}"
        if answer.status_code == recorded["status"] and recorded["body"] is not None:
            _same(recorded["body"], answer.json(), note)
            placeholder = (recorded["body"].get("data") or {}).get("id", "")
            if placeholder in ("<order>", "<order2>"):
                ids.setdefault(placeholder, answer.json()["data"]["id"])
        else:
            assert note in KNOWN_DIFFERENCES or answer.content == b"", note
