from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pwdlib import PasswordHash

from app.accounts.models import Lock, RefreshSession, User
from app.core.mongo import Database, bind_documents, open_mongo
from app.core.settings import Settings
from app.web.limits import RateLimiter
from tests.accounts.house import PASSWORD, House, open_house
from tests.services import shared_services

DOCUMENTS = [User, RefreshSession, Lock]


@pytest.fixture(scope="session")
def addresses() -> Iterator[tuple[str, str]]:
    with shared_services() as found:
        yield found


@pytest.fixture(scope="session")
async def own_database(addresses: tuple[str, str]) -> AsyncIterator[Database]:
    async with open_mongo(addresses[0], f"accounts-{uuid.uuid4().hex[:12]}") as database:
        await bind_documents(database, DOCUMENTS)
        yield database
        await database.client.drop_database(database.name)


@pytest.fixture
async def database(own_database: Database) -> Database:
    """Empty, with its indexes."""
    for document in DOCUMENTS:
        await document.get_pymongo_collection().delete_many({})
    return own_database


@pytest.fixture(scope="session")
def limiter(addresses: tuple[str, str]) -> RateLimiter:
    return RateLimiter(addresses[1], f"accounts-{uuid.uuid4().hex}")


@pytest.fixture(scope="session")
def password_hash() -> str:
    return PasswordHash.recommended().hash(PASSWORD)


def make_settings(**changes: Any) -> Settings:
    """Settings from nothing but `changes`; one proxy is trusted, so that each client has an address of its own."""
    usual: dict[str, Any] = {
        "app_env": "test",
        "app_url": "http://desk.test",
        "trust_proxy_hops": 1,
        "jwt_secret": "j" * 40,
    }
    return Settings(_env_file=None, **(usual | changes))


@pytest.fixture
async def house(database: Database, limiter: RateLimiter, password_hash: str) -> AsyncIterator[House]:
    async with open_house(make_settings(), database, limiter, password_hash) as opened:
        yield opened
