from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.accounts.passwords import Passwords
from app.core.mongo import Database
from app.core.settings import Settings
from tests.accounts.house import PASSWORD, House, Mailbox, open_house


@pytest.fixture
def overrides() -> dict[str, Any]:
    """One proxy is trusted, so that each client has an address of its own; the limits are those of the contract."""
    return {
        "app_url": "http://desk.test",
        "trust_proxy_hops": 1,
        "jwt_secret": "j" * 40,
        "rate_limit_login_max": 10,
        "rate_limit_forgot_max": 3,
        "ai_enabled": False,
    }


@pytest.fixture(scope="session")
async def password_hash() -> str:
    return await Passwords().hash(PASSWORD)


@pytest.fixture
async def house(
    database: Database, settings: Settings, password_hash: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    mailbox = Mailbox()
    monkeypatch.setattr("app.desk._mailer", lambda _settings: mailbox)
    async with open_house(settings, password_hash, mailbox) as opened:
        yield opened
