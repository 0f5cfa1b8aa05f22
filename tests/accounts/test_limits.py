"""How often one may try (HTTP-4), over HTTP; both doors share a bucket."""

from __future__ import annotations

from tests.accounts.house import PASSWORD, House, send_form

LOGIN, REGISTER, FORGOT = (f"/api/v1/auth/{name}" for name in ("login", "register", "forgot-password"))
NOBODY = {"email": "nobody@example.com", "password": PASSWORD}


async def test_sign_ins_are_limited_per_address_at_both_doors_and_apart_from_registrations(house: House) -> None:
    """HTTP-4"""
    client, elsewhere = await house.client(), await house.client()
    for _ in range(9):
        assert (await client.post(LOGIN, json=NOBODY)).status_code == 401
    assert (await send_form(client, "/login", NOBODY)).status_code == 401
    answer = await client.post(LOGIN, json=NOBODY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "RATE_LIMITED")
    assert 1 <= int(answer.headers["retry-after"]) <= 901
    page = await send_form(client, "/login", NOBODY)
    assert page.status_code == 429
    assert int(page.headers["retry-after"]) >= 1
    assert 'value="nobody@example.com"' in page.text
    assert (await elsewhere.post(LOGIN, json=NOBODY)).status_code == 401
    new = {"email": "new@example.com", "password": PASSWORD, "name": "New"}
    assert (await client.post(REGISTER, json=new)).status_code == 201


async def test_registrations_are_limited_per_address(house: House) -> None:
    """HTTP-4"""
    await house.account(email="taken@example.com")
    client = await house.client()
    taken = {"email": "taken@example.com", "password": PASSWORD, "name": "New"}
    for _ in range(10):
        assert (await client.post(REGISTER, json=taken)).status_code == 409
    assert (await client.post(REGISTER, json=taken)).status_code == 429


async def test_forgotten_passwords_are_limited_per_client_and_mail_address(house: House) -> None:
    """HTTP-4"""
    client, elsewhere = await house.client(), await house.client()
    for email in ("ada@example.com", "ADA@example.com"):
        assert (await client.post(FORGOT, json={"email": email})).status_code == 200
    assert (await send_form(client, "/forgot-password", {"email": "ada@example.com"})).status_code == 200
    assert (await client.post(FORGOT, json={"email": "ada@example.com"})).status_code == 429
    assert (await send_form(client, "/forgot-password", {"email": "ada@example.com"})).status_code == 429
    assert (await client.post(FORGOT, json={"email": "bob@example.com"})).status_code == 200
    assert (await elsewhere.post(FORGOT, json={"email": "ada@example.com"})).status_code == 200
