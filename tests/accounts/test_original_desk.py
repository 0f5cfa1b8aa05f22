"""The database and the clients of the original desk keep working (DATA-2, AUTH-12, HTTP-2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
from bson import json_util

from tests.accounts.house import House

WIRE = Path(__file__).parents[1] / "data" / "wire"
PATHS = ("/api/v1/auth/", "/api/v1/users/me", "/api/v1/admin/users")
SEEDED = {"admin": "Admin1234", "user": "User1234", "viewer": "Viewer1234"}


async def _import(house: House, **changes: Any) -> None:
    stored = json_util.loads((WIRE / "database.json").read_text())
    users = [user | {"legacyField": {"kept": [1, 2]}} | changes for user in stored["users"]]
    await house.database["users"].insert_many(users)
    await house.database["refreshsessions"].insert_many(stored["refreshsessions"])


async def _login(house: House, email: str, password: str) -> httpx.Response:
    client = await house.client()
    return await client.post("/api/v1/auth/login", json={"email": email, "password": password})


async def test_its_people_sign_in_and_are_rehashed_once_without_losing_a_field(house: House) -> None:
    """AUTH-12, DATA-2"""
    await _import(house)
    users = house.database["users"]
    for role, password in SEEDED.items():
        before = await users.find_one({"email": f"{role}@example.com"})
        assert before is not None
        assert (await _login(house, f"{role}@example.com", password)).status_code == 200
        after = await users.find_one({"_id": before["_id"]})
        assert after is not None
        assert after["passwordHash"].startswith("$argon2id$")
        changed = {"passwordHash", "lastLoginAt"}
        assert {k: v for k, v in after.items() if k not in changed} == {
            k: v for k, v in before.items() if k not in changed
        }
    work = house.feature.passwords.computations
    assert (await _login(house, "user@example.com", "User1234")).status_code == 200
    assert house.feature.passwords.computations - work == 1


async def test_a_wrong_password_against_an_old_hash_costs_one_computation(house: House) -> None:
    """AUTH-2, AUTH-12"""
    await _import(house)
    work = house.feature.passwords.computations
    assert (await _login(house, "user@example.com", "Wrong0001")).status_code == 401
    assert house.feature.passwords.computations - work == 1


async def test_whoever_was_inactive_stays_out_and_a_recorded_failure_counts(house: House) -> None:
    """AUTH-2, AUTH-11"""
    await _import(house)
    assert (await _login(house, "second@example.com", "Passw0rd1")).status_code == 401
    assert (await _login(house, "new.person@example.com", "N3wPassword")).status_code == 200


async def test_a_missing_ai_enabled_means_on(house: House) -> None:
    """DATA-2, PROFILE-1..3"""
    await _import(house)
    users = house.database["users"]
    await users.update_many({}, {"$unset": {"aiEnabled": ""}})
    client = await house.client()
    await client.post("/api/v1/auth/login", json={"email": "admin@example.com", "password": "Admin1234"})
    page = (await client.get("/api/v1/admin/users")).json()["data"]
    assert [item["aiEnabled"] for item in page["items"]] == [True] * 5
    await client.patch("/api/v1/users/me", json={"name": "Renamed"})
    stored = await users.find_one({"email": "admin@example.com"})
    assert stored is not None
    assert "aiEnabled" not in stored
    assert stored["legacyField"] == {"kept": [1, 2]}


async def test_the_recorded_exchanges_replay_with_the_same_shapes(house: House) -> None:
    """HTTP-2, HTTP-3, AUTH-1..9: status, codes, fields, cookie attributes as recorded"""
    for role, password in SEEDED.items():
        name = {"admin": "Seed Admin", "user": "Seed User", "viewer": "Read-only Viewer"}[role]
        await house.feature.accounts.ensure_user(f"{role}@example.com", password, name, role)  # type: ignore[arg-type]
    clients: dict[str, httpx.AsyncClient] = {}
    ids = {"<id>": "0" * 24}
    for exchange in json.loads((WIRE / "exchanges.json").read_text()):
        request, who = exchange["request"], exchange["as"]
        if not request["path"].startswith(PATHS):
            continue
        client = await house.client() if who == "anonymous" else clients.get(who) or await house.client()
        clients[who] = client
        answer = await client.request(request["method"], _filled(request["path"], ids), json=request.get("json"))
        expected = exchange["response"]
        note = exchange["note"]
        assert answer.status_code == expected["status"], note
        _match(answer.json() if answer.content else None, expected["body"], note, ids)
        assert _cookies(answer) == _recorded_cookies(expected), note


def _filled(path: str, ids: dict[str, str]) -> str:
    for name, value in ids.items():
        path = path.replace(name, value)
    return path


def _match(given: Any, expected: Any, note: str, ids: dict[str, str]) -> None:
    """Equal, but for what the recording replaced; ids that it names are learned."""
    if isinstance(expected, str) and expected.startswith("<") and expected.endswith(">"):
        assert isinstance(given, str), note
        if expected in ("<user>", "<user2>", "<admin>", "<viewer>"):
            assert ids.setdefault(expected, given) == given, note
    elif isinstance(expected, dict):
        assert set(given) == set(expected), note
        for key, value in expected.items():
            _match(given[key], value, note, ids)
    elif isinstance(expected, list):
        assert len(given) == len(expected), note
        for one, other in zip(given, expected, strict=True):
            _match(one, other, note, ids)
    else:
        assert given == expected, note


def _cookies(answer: httpx.Response) -> dict[str, tuple[bool, list[str]]]:
    found = {}
    for header in answer.headers.get_list("set-cookie"):
        pair, *attributes = header.split("; ")
        name, value = pair.split("=", 1)
        kept = sorted(part for part in attributes if not part.lower().startswith("expires="))
        assert len(kept) == len(attributes) - 1
        found[name] = (value in ("", '""'), kept)
    return found


def _recorded_cookies(expected: dict[str, Any]) -> dict[str, tuple[bool, list[str]]]:
    """As recorded, with the two differences that are wanted: `Path=/` for both, `Expires` aside."""
    found = {}
    for cookie in expected.get("cookies", []):
        kept = [part for part in cookie["attributes"] if not part.startswith("Expires=")]
        paths = ["Path=/" if part.startswith("Path=") else part for part in kept]
        found[cookie["name"]] = (cookie["empty"], sorted(paths))
    return found
