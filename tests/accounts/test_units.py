"""What is worth a look without HTTP: redirects, hashing, forms, the production cookies, the indexes."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime

import bcrypt
import pytest
from bson import ObjectId
from pwdlib import PasswordHash

from app.accounts.background import AfterTheAnswer
from app.accounts.cookies import cleared_cookies, signed_in_cookies
from app.accounts.forms import parse_form, refused
from app.accounts.models import User
from app.accounts.passwords import Passwords
from app.accounts.redirects import HOME, safe_next
from app.accounts.schemas import PasswordChange, ProfileChange, StatusChange
from app.accounts.sessions import SignedIn
from app.core.errors import ValidationFailed
from tests.accounts.house import House, send_form

LEGACY = "$2b$12$H5Z9yFrllAUFk0MjquNvNOEA/znVFPERahbaumb1rO4I55Xyjv6oG"  # of "Admin1234"


@pytest.mark.parametrize(
    "wanted", ["/app", "/app?x=1", "/app/work-orders", "/app/work-orders?search=a%20b&next=//x", "/app/a-b_c/1"]
)
def test_pages_of_the_desk_may_be_wanted(wanted: str) -> None:
    """HTTP-5"""
    assert safe_next(wanted) == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        None, "", "/", "/login", "app", "//evil.test", "///evil.test", "http://evil.test/app", "javascript:alert(1)",
        "/\\evil.test", "/app\\..\\evil", "/application", "/app/../..//evil.test", "/app//evil", "/app/%2e%2e/x",
        "/app/%5cevil", "/app/%255cevil", "/app/%2Fevil/%2F%2Fevil", "/app/\r\nSet-Cookie:x=1", "/app/%0d%0ax",
        "/app/é", " /app", "/app ", "/app/" + "x" * 3000,
    ],
)  # fmt: skip
def test_nothing_else_may_be_wanted(wanted: str | None) -> None:
    """HTTP-5: `next` is open-redirect-proof"""
    assert safe_next(wanted) == HOME


async def test_an_old_hash_verifies_and_is_outdated_a_new_one_is_argon2id() -> None:
    """AUTH-12"""
    passwords = Passwords()
    assert await passwords.verify("Admin1234", LEGACY)
    assert not await passwords.verify("Admin1235", LEGACY)
    assert passwords.is_outdated(LEGACY)
    fresh = await passwords.hash("Admin1234")
    assert fresh.startswith("$argon2id$")
    assert not passwords.is_outdated(fresh)
    assert not await passwords.verify("Admin1234", "garbage")
    assert not await passwords.verify("Admin1234", None)
    assert passwords.computations == 5


async def test_bytes_beyond_what_bcrypt_reads_do_not_break_an_old_hash() -> None:
    """AUTH-12: the older desk cut at 72 bytes"""
    passwords = Passwords()
    long = "ä1" * 36
    stored = bcrypt.hashpw(long.encode()[:72], bcrypt.gensalt(4)).decode()
    assert await passwords.verify(long, stored)


async def test_hashing_leaves_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """AUTH-12: a hash under way ends only after the loop has done something else meanwhile"""
    passwords = Passwords()
    begun, loop_ran = threading.Event(), threading.Event()
    outcomes: list[bool] = []

    def hash_slowly(_: PasswordHash, password: str) -> str:
        begun.set()
        outcomes.append(loop_ran.wait(timeout=10))
        return password

    monkeypatch.setattr(PasswordHash, "hash", hash_slowly)
    hashing = asyncio.create_task(passwords.hash("Passw0rd1"))
    await asyncio.to_thread(begun.wait, 10)
    loop_ran.set()
    assert await hashing == "Passw0rd1"
    assert outcomes == [True]


def test_in_production_both_cookies_are_secure() -> None:
    """AUTH-3, AUTH-4"""
    user = User.model_construct(id=ObjectId(), email="a@b.co", role="user")
    cookies = signed_in_cookies(SignedIn(user, "sid", "access", "refresh"), secure=True)
    for cookie in [*cookies, *cleared_cookies(secure=True)]:
        header = cookie.to_header(header="")
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(header.strip().split("; "))
        assert "Domain" not in header


def test_forms_are_read_by_their_own_names_and_never_echo_a_secret() -> None:
    """HTTP-5, SEC-10"""
    values = {"current_password": "Passw0rd1", "new_password": "weak", "username": "ada"}
    with pytest.raises(ValidationFailed) as caught:
        parse_form(PasswordChange, values)
    form = refused(values, caught.value)
    assert set(form.errors) == {"new_password"}
    assert form.values == {"username": "ada"}
    assert parse_form(StatusChange, {"is_active": "false"}).is_active is False
    assert parse_form(ProfileChange, {"name": "Ada", "ai_opt_out": "on"}).ai_opt_out is True


def test_a_secret_never_shows_in_a_representation() -> None:
    """SEC-10"""
    when = datetime.now(UTC)
    user = User.model_construct(id=ObjectId(), email="a@b.co", password_hash="hush", created_at=when)
    assert "hush" not in repr(user)
    assert "hush" not in repr(PasswordChange.model_validate({"currentPassword": "hush1234", "newPassword": "hush1234"}))


async def test_background_work_that_fails_or_hangs_hurts_nobody() -> None:
    """AUTH-7"""
    work, reached = AfterTheAnswer(), asyncio.Event()

    async def fails() -> None:
        raise RuntimeError("the text of a mail")

    async def hangs() -> None:
        reached.set()
        await asyncio.Event().wait()

    work.start("fails", fails())
    work.start("hangs", hangs())
    await asyncio.wait_for(reached.wait(), 5)
    await work.finish(within_s=0.05)
    await work.finish()


async def test_every_query_of_accounts_is_served_by_an_index(house: House) -> None:
    """DATA-3: the database's own profiler watches a whole story"""
    for _ in range(30):
        await house.account()
    database = house.database
    await database.command("profile", 2)
    try:
        await _story(house)
    finally:
        await database.command("profile", 0)
    watched = {f"{database.name}.{name}" for name in ("users", "refreshsessions", "locks")}
    seen = await database["system.profile"].find({"ns": {"$in": sorted(watched)}}).to_list()
    assert len(seen) > 30
    plans = {(row["ns"].split(".")[1], row["op"], row.get("planSummary", "")) for row in seen}
    assert not [plan for plan in plans if "COLLSCAN" in plan[2]], plans


async def _story(house: House) -> None:
    admin, _ = await house.sign_in_as("admin")
    person, person_id = await house.sign_in_as("user")
    email = f"user{house.made}@example.com"
    for query in ("", "?search=fox", "?role=user", "?role=user&search=ada"):
        await admin.get(f"/api/v1/admin/users{query}")
    await admin.patch(f"/api/v1/admin/users/{person_id}/role", json={"role": "viewer"})
    await person.post("/api/v1/auth/refresh")
    await person.post("/api/v1/auth/forgot-password", json={"email": email})
    token = (await house.mailbox.next()).token
    await send_form(
        person, "/reset-password", {"token": token, "password": "N3wPassword"}, page="/reset-password?token=x"
    )
    await person.post("/api/v1/auth/refresh")
    body = {"currentPassword": "N3wPassword", "newPassword": "Passw0rd1"}
    await person.post("/api/v1/users/me/password", json=body)
    await person.post("/api/v1/auth/logout")
    await house.feature.accounts.refs([person_id])
    await house.feature.accounts.count()


async def test_the_indexes_keep_what_must_be_unique_and_let_go_what_expired(house: House) -> None:
    """DATA-3"""
    users = await house.database["users"].index_information()
    tokens = await house.database["refreshsessions"].index_information()
    unique = {name for name, index in [*users.items(), *tokens.items()] if index.get("unique")}
    assert unique == {"email_1", "passwordReset.tokenHash_1", "tokenHash_1"}
    assert tokens["expiresAt_1"]["expireAfterSeconds"] == 0
