"""Registering, over HTTP."""

from __future__ import annotations

import asyncio

import pytest

from tests.accounts.house import PASSWORD, House

NEW = {"email": " New.Person@Example.com ", "password": PASSWORD, "name": "  New Person "}


async def test_registering_trims_lowers_and_signs_in(house: House) -> None:
    """AUTH-1, HTTP-3, SEC-10"""
    client = await house.client()
    answer = await client.post("/api/v1/auth/register", json=NEW)
    assert answer.status_code == 201
    data = answer.json()["data"]
    assert set(data) == {"id", "email", "name", "role", "createdAt", "updatedAt"}
    assert (data["email"], data["name"], data["role"]) == ("new.person@example.com", "New Person", "user")
    assert data["createdAt"].endswith("Z")
    assert len(data["createdAt"]) == 24
    assert (await client.get("/api/v1/users/me")).json()["data"] == data


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"password": "Ab1"}, ["password"]),
        ({"password": "Abcdefgh"}, ["password"]),
        ({"password": "12345678"}, ["password"]),
        ({"password": "a1" * 37}, ["password"]),
        ({"password": "Passw0rd\u0000"}, ["_"]),
        ({"email": "nope"}, ["email"]),
        ({"email": "two@at@example.com"}, ["email"]),
        ({"email": "a\r\nBcc: x@example.com"}, ["email"]),
        ({"email": "a" * 251 + "@b.co"}, ["email"]),
        ({"name": "   "}, ["name"]),
        ({"name": "x" * 81}, ["name"]),
        ({"role": "admin"}, ["_"]),
        ({"email": 5}, ["email"]),
    ],
)
async def test_registering_with_bad_values_names_each_field(
    house: House, change: dict[str, object], fields: list[str]
) -> None:
    """AUTH-1, WO-8, HTTP-2"""
    client = await house.client()
    answer = await client.post("/api/v1/auth/register", json=NEW | change)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert [detail["field"] for detail in error["details"]] == fields
    assert "set-cookie" not in answer.headers


async def test_registering_with_nothing_names_every_field_in_order(house: House) -> None:
    """AUTH-1"""
    answer = await (await house.client()).post("/api/v1/auth/register", json={})
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["email", "password", "name"]


@pytest.mark.parametrize("email", ["a@b.co", "first+tag@desk.test", "o'neil_x-1@sub.example.com"])
async def test_plain_addresses_are_accepted(house: House, email: str) -> None:
    """AUTH-1"""
    answer = await (await house.client()).post("/api/v1/auth/register", json=NEW | {"email": email})
    assert answer.status_code == 201


async def test_of_two_who_register_one_address_at_once_one_is_told_it_is_taken(house: House) -> None:
    """AUTH-1: EMAIL_TAKEN comes from the unique index"""
    one, two = await house.client(), await house.client()
    answers = await asyncio.gather(
        one.post("/api/v1/auth/register", json=NEW),
        two.post("/api/v1/auth/register", json=NEW | {"email": "NEW.person@example.COM"}),
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    loser = next(answer for answer in answers if answer.status_code == 409)
    assert loser.json()["error"]["code"] == "EMAIL_TAKEN"
