"""The pages of accounts as a browser without JavaScript, and as htmx, meets them (HTTP-5)."""

from __future__ import annotations

import html
from typing import Any

import pytest

from tests.accounts.house import ORIGIN, PASSWORD, House, csrf_token, send_form

NEW = "N3wPassword"
FRAGMENT = {"HX-Request": "true", "HX-Request-Type": "partial"}


async def test_signing_in_by_form_leads_to_the_page_one_wanted(house: House) -> None:
    """HTTP-5, AUTH-2"""
    await house.account(email="ada@example.com")
    client = await house.client()
    sent_away = await client.get("/app/profile")
    assert (sent_away.status_code, sent_away.headers["location"]) == (303, "/login?next=%2Fapp%2Fprofile")
    fields = {"email": "ada@example.com", "password": PASSWORD, "next": "/app/profile"}
    answer = await send_form(client, "/login", fields, page=sent_away.headers["location"])
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/profile")
    assert (await client.get("/app/profile")).status_code == 200


@pytest.mark.parametrize(
    "wanted", ["https://evil.test/", "//evil.test", "/\\evil.test", "/app//evil.test/..", "/app/%2f%2fevil.test"]
)
async def test_the_wanted_page_is_always_one_of_ours(house: House, wanted: str) -> None:
    """HTTP-5: `next` is no open redirect"""
    await house.account(email="ada@example.com")
    client = await house.client()
    fields = {"email": "ada@example.com", "password": PASSWORD, "next": wanted}
    answer = await send_form(client, "/login", fields)
    assert answer.headers["location"] == "/app/work-orders"
    signed_in = await client.get("/login", params={"next": wanted})
    assert signed_in.headers["location"] == "/app/work-orders"


async def test_a_refused_sign_in_keeps_the_address_and_never_the_password(house: House) -> None:
    """HTTP-5, AUTH-2, SEC-10"""
    await house.account(email="ada@example.com")
    client = await house.client()
    fields = {"email": "ada@example.com", "password": "Wrong0001", "next": "/app/profile"}
    answer = await send_form(client, "/login", fields)
    assert answer.status_code == 401
    assert 'value="ada@example.com"' in answer.text
    assert 'value="/app/profile"' in answer.text
    assert "do not match" in answer.text
    assert "Wrong0001" not in answer.text


async def test_registering_by_form_signs_in(house: House) -> None:
    """HTTP-5, AUTH-1"""
    client = await house.client()
    answer = await send_form(client, "/register", {"email": "A@b.co", "password": PASSWORD, "name": "Ada"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/work-orders")
    assert 'value="Ada"' in (await client.get("/app/profile")).text


async def test_a_form_with_faults_comes_back_with_a_plain_word_at_each_field(house: House) -> None:
    """HTTP-5"""
    client = await house.client()
    answer = await send_form(client, "/register", {"email": "nope", "password": "short", "name": "<b>"})
    page = html.unescape(answer.text)
    assert answer.status_code == 422
    assert "Write it like name@example.com." in page
    assert "Must be at least 8 characters." in page
    assert "&lt;b&gt;" in answer.text
    assert "short" not in answer.text
    empty = await send_form(client, "/register", {"email": "", "password": "", "name": " "})
    assert empty.text.count("Fill this in.") == 3


async def test_a_taken_address_is_said_above_the_form(house: House) -> None:
    """HTTP-5, AUTH-1"""
    await house.account(email="ada@example.com")
    client = await house.client()
    answer = await send_form(client, "/register", {"email": "ada@example.com", "password": PASSWORD, "name": "Ada"})
    assert answer.status_code == 409
    assert "already has an account" in answer.text


async def test_a_form_without_its_token_is_refused(house: House) -> None:
    """HTTP-6"""
    client = await house.client()
    await client.get("/login")
    answer = await client.post("/login", data={"email": "ada@example.com", "password": PASSWORD}, headers=ORIGIN)
    assert answer.status_code == 403


async def test_a_body_that_is_no_form_is_refused(house: House) -> None:
    """HTTP-2"""
    client = await house.client()
    token = await csrf_token(client, "/login")
    headers = ORIGIN | {"X-CSRFToken": token, "Content-Type": "text/plain"}
    assert (await client.post("/login", content="email=x", headers=headers)).status_code == 415
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    assert (await client.post("/login", content=b"email=\xff", headers=headers)).status_code == 400


async def test_a_forgotten_password_is_reset_by_the_link_in_the_mail(house: House) -> None:
    """HTTP-5, AUTH-7"""
    await house.account(email="ada@example.com")
    client = await house.client()
    asked = await send_form(client, "/forgot-password", {"email": "ada@example.com"})
    unknown = await send_form(client, "/forgot-password", {"email": "nobody@example.com"})
    assert asked.status_code == unknown.status_code == 200
    assert asked.text == unknown.text
    token = (await house.mailbox.next()).token
    page = f"/reset-password?token={token}"
    weak = await send_form(client, "/reset-password", {"token": token, "password": "weak"}, page=page)
    assert weak.status_code == 422
    assert f'value="{token}"' in weak.text
    answer = await send_form(client, "/reset-password", {"token": token, "password": NEW}, page=page)
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/work-orders")
    again = await send_form(client, "/reset-password", {"token": token, "password": NEW}, page=page)
    assert again.status_code == 422
    assert "no longer valid" in again.text
    assert "no longer valid" in (await client.get("/reset-password")).text


async def test_signing_out_by_form_leads_to_the_sign_in_page(house: House) -> None:
    """HTTP-5, AUTH-6"""
    client, _ = await house.sign_in_as("user")
    answer = await send_form(client, "/logout", {}, page="/app/profile")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "access_token" not in client.cookies
    assert (await client.get("/app/profile")).status_code == 303


async def test_the_profile_is_changed_by_form(house: House) -> None:
    """HTTP-5, PROFILE-2"""
    client, user_id = await house.sign_in_as("user")
    answer = await send_form(client, "/app/profile", {"name": "Renamed", "ai_opt_out": "true"})
    assert answer.status_code == 303
    page = await client.get(answer.headers["location"])
    assert "Your profile is saved." in page.text
    assert "checked" in page.text
    assert (await house.user(user_id))["aiOptOut"] is True
    await send_form(client, "/app/profile", {"name": "Renamed"})
    assert (await house.user(user_id))["aiOptOut"] is False
    refused = await send_form(client, "/app/profile", {"name": "x" * 81, "ai_opt_out": "true"})
    assert refused.status_code == 422
    assert "Must be at most 80 characters." in refused.text


async def test_the_password_is_changed_by_form(house: House) -> None:
    """HTTP-5, PROFILE-3"""
    client, _ = await house.sign_in_as("user")
    path = "/app/profile/password"
    fields = {"username": "me", "current_password": "Wrong0001", "new_password": NEW}
    wrong = await send_form(client, path, fields, page="/app/profile")
    assert wrong.status_code == 401
    assert "current password is not right" in wrong.text
    assert NEW not in wrong.text
    weak = await send_form(client, path, fields | {"new_password": "weak"}, page="/app/profile")
    assert weak.status_code == 422
    done = await send_form(client, path, fields | {"current_password": PASSWORD}, page="/app/profile")
    assert done.status_code == 303
    assert "Your password is changed." in (await client.get(done.headers["location"])).text


async def test_signing_out_everywhere_by_form(house: House) -> None:
    """HTTP-5, AUTH-6"""
    await house.account(email="ada@example.com")
    here, there = await house.sign_in("ada@example.com"), await house.sign_in("ada@example.com")
    answer = await send_form(here, "/app/profile/sign-out-everywhere", {}, page="/app/profile")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert (await there.get("/app/profile")).status_code == 303


@pytest.mark.parametrize("role", ["user", "viewer"])
async def test_only_an_admin_sees_the_people(house: House, role: Any) -> None:
    """ADM-1, HTTP-5: page and fragment"""
    client, own_id = await house.sign_in_as(role)
    assert (await client.get("/app/admin")).status_code == 403
    assert (await client.get("/app/admin", headers=FRAGMENT)).status_code == 403
    answer = await send_form(client, f"/app/admin/users/{own_id}/role", {"role": "admin"}, page="/app/profile")
    assert answer.status_code == 403


async def test_the_people_are_a_page_or_the_same_table_alone(house: House) -> None:
    """HTTP-5, ADM-1"""
    admin, _ = await house.sign_in_as("admin")
    await house.account(name="Bob <i>")
    await house.account(name="Cleo")
    page = await admin.get("/app/admin", params={"search": "bob", "role": "user", "page": "zero"})
    assert page.status_code == 200
    assert "<html" in page.text
    assert "Bob &lt;i&gt;" in page.text
    assert "Cleo" not in page.text
    table = await admin.get("/app/admin", params={"search": "bob"}, headers=FRAGMENT)
    assert "<html" not in table.text
    assert "Bob &lt;i&gt;" in table.text
    assert table.headers["vary"] == "HX-Request-Type"
    assert (await admin.get("/app/admin?search=%00&role=root&page=99999")).status_code in (200, 400)


async def test_a_change_by_htmx_gives_the_table_as_it_was_filtered_and_a_toast(house: House) -> None:
    """HTTP-5, ADM-2..4"""
    admin, _ = await house.sign_in_as("admin")
    bob = await house.account("user", "bob@example.com", "Bob")
    page = f"{house.url}/app/admin?search=bob"
    headers = FRAGMENT | {"HX-Current-URL": page}
    path = f"/app/admin/users/{bob}"
    answer = await send_form(admin, f"{path}/role", {"role": "viewer"}, page="/app/admin", **headers)
    assert answer.status_code == 200
    assert "Bob is now a viewer." in answer.headers["hx-trigger"]
    assert "Bob" in answer.text
    assert "Ada Fox" not in answer.text
    off = await send_form(admin, f"{path}/status", {"is_active": "false"}, page="/app/admin", **headers)
    assert "is deactivated" in off.headers["hx-trigger"]
    ai = await send_form(admin, f"{path}/ai", {"ai_enabled": "false"}, page="/app/admin", **headers)
    assert "AI is off for Bob." in ai.headers["hx-trigger"]
    stored = await house.user(bob)
    assert (stored["role"], stored["isActive"], stored["aiEnabled"]) == ("viewer", False, False)


async def test_a_change_without_javascript_leads_back_to_the_filtered_page(house: House) -> None:
    """HTTP-5, ADM-2"""
    admin, _ = await house.sign_in_as("admin")
    bob = await house.account("user", "bob@example.com", "Bob")
    referer = {"Referer": f"{house.url}/app/admin?search=b%26b&role=user"}
    answer = await send_form(admin, f"/app/admin/users/{bob}/role", {"role": "viewer"}, page="/app/admin", **referer)
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/admin?search=b%26b&role=user")


async def test_a_refused_change_says_so_in_the_table(house: House) -> None:
    """HTTP-5, AUTH-9"""
    admin, own_id = await house.sign_in_as("admin")
    path = f"/app/admin/users/{own_id}"
    own = await send_form(admin, f"{path}/role", {"role": "user"}, page="/app/admin", **FRAGMENT)
    assert own.status_code == 403
    assert "You cannot change your own role." in own.text
    bad = await send_form(admin, f"{path}/role", {"role": "root"}, page="/app/admin", **FRAGMENT)
    assert bad.status_code == 422
    gone = await send_form(
        admin, "/app/admin/users/000000000000000000000000/ai", {"ai_enabled": "true"}, page="/app/admin", **FRAGMENT
    )
    assert gone.status_code == 404
