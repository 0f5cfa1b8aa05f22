"""The people of the original desk's database keep their accounts (DATA-2, AUTH-12).

Its recorded exchanges are replayed in `tests/wire`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx

from tests.accounts.house import House
from tests.wire.replay import stored_rows

SEEDED = {"admin": "Admin1234", "user": "User1234", "viewer": "Viewer1234"}


async def _import(house: House, **changes: Any) -> None:
    stored = stored_rows(datetime.now(UTC))
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
