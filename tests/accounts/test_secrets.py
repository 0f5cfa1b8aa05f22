"""Nothing that is secret about an account leaves the desk: no answer, no page, no log line (SEC-10)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.core.ids import token_hash
from tests.accounts.house import PASSWORD, House, send_form

NEVER = (
    "argon2",
    "passwordHash",
    "password_hash",
    "tokenHash",
    "token_hash",
    "failedLogin",
    "lockedUntil",
    "revokedSids",
)


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {record.__dict__.get('_logger', '')}")


@pytest.fixture
def overrides(overrides: dict[str, Any]) -> dict[str, Any]:
    return overrides | {"log_level": "debug"}


@pytest.fixture
def log_lines(house: House) -> Iterator[list[str]]:
    handler = _Lines()
    logging.getLogger().addHandler(handler)
    yield handler.lines
    logging.getLogger().removeHandler(handler)


async def test_no_answer_and_no_log_line_holds_a_secret(house: House, log_lines: list[str]) -> None:
    """SEC-10, AUTH-7"""
    answers: list[httpx.Response] = []
    admin, _ = await house.sign_in_as("admin")
    person, person_id = await house.sign_in_as("user")
    email = f"user{house.made}@example.com"
    stranger = await house.client()
    wrong = {"email": email, "password": "Wr0ngGuess"}
    answers.append(await stranger.post("/api/v1/auth/login", json=wrong))
    answers.append(await send_form(stranger, "/login", wrong))
    answers.append(await stranger.post("/api/v1/auth/forgot-password", json={"email": email}))
    token = (await house.mailbox.next()).token
    answers += [await person.get(path) for path in ("/api/v1/users/me", "/app/profile")]
    answers += [await admin.get(path) for path in ("/api/v1/admin/users", "/app/admin")]
    answers.append(await admin.patch(f"/api/v1/admin/users/{person_id}/ai", json={"aiEnabled": True}))
    answers.append(await person.post("/api/v1/auth/refresh"))
    answers.append(await stranger.post("/api/v1/auth/reset-password", json={"token": token, "password": "N3wSecret"}))
    tokens = [client.cookies[name] for client in (admin, person) for name in ("access_token", "refresh_token")]
    secret = [PASSWORD, "Wr0ngGuess", "N3wSecret", token, token_hash(token), house.password_hash, *tokens]
    assert len(log_lines) > 5
    for text in [answer.text for answer in answers] + log_lines:
        assert not [word for word in (*NEVER, *secret) if word in text], text
