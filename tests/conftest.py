"""The fixtures everybody uses: real MongoDB, real Valkey, a real server on loopback, in one event loop.

Each pytest-xdist worker has a database and a Redis key space of its own; both are emptied before each test.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from bson import ObjectId
from litestar.types import ASGIApp
from pwdlib.hashers.argon2 import Argon2Hasher

from app.accounts.people import Person
from app.core.clock import Clock, cut_to_ms
from app.core.mongo import Database, open_mongo
from app.core.redis import open_redis
from app.core.settings import Settings, load_settings
from app.desk import Desk, open_desk
from app.llm.demo.scripted_model import ScriptedModel
from app.main import create_app
from tests.services import shared_services

CAST = {
    "owner": ("owner@example.com", "Owner1234", "Rosa Lind", "user"),
    "stranger": ("stranger@example.com", "Stranger1234", "Tom Adeyemi", "user"),
    "dispatcher": ("dispatcher@example.com", "Dispatcher1234", "Ines Okafor", "admin"),
    "viewer": ("viewer@example.com", "Viewer1234", "Vera Holm", "viewer"),
}


class ShiftedClock:
    """The real time, moved: what is awaited goes on while tests jump ahead."""

    def __init__(self) -> None:
        self._shift = timedelta()

    def now(self) -> datetime:
        return cut_to_ms(datetime.now(UTC) + self._shift)

    def advance(self, by: timedelta) -> None:
        self._shift += by


@dataclass(frozen=True)
class Stores:
    """Where this worker's data lies."""

    mongodb_uri: str
    redis_url: str
    database: str


@pytest.fixture(scope="session", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """argon2id as in production, at the lowest cost: the suite signs in thousands of times.

    The real cost is looked at in tests/accounts/test_hashing.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        cheap = partial(Argon2Hasher, time_cost=1, memory_cost=64, parallelism=1)
        patch.setattr("app.accounts.passwords.Argon2Hasher", cheap)
        yield


@pytest.fixture(scope="session")
def stores(worker_id: str) -> Iterator[Stores]:
    """Real services, shared by all workers; a database of this worker's own."""
    with shared_services() as (mongodb_uri, redis_url):
        yield Stores(mongodb_uri, redis_url, f"test_{worker_id}_{os.getpid()}")


@pytest.fixture(scope="session")
async def session_database(stores: Stores) -> AsyncIterator[Database]:
    async with open_mongo(stores.mongodb_uri, stores.database) as database:
        yield database
        await database.client.drop_database(stores.database)


@pytest.fixture
async def database(session_database: Database, stores: Stores) -> Database:
    """An empty database (its indexes stay), and no Redis keys of this worker."""
    names = [name for name in await session_database.list_collection_names() if not name.startswith("system.")]
    await asyncio.gather(*(session_database[name].delete_many({}) for name in names))
    async with open_redis(stores.redis_url) as redis:
        keys = [key async for key in redis.scan_iter(f"*desk:{stores.database}*", count=1000)]
        if keys:
            await redis.delete(*keys)
    return session_database


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """A real HTTP model server with a script; keyword rules where the script is empty."""
    async with ScriptedModel() as running:
        yield running


@pytest.fixture
def overrides() -> dict[str, Any]:
    """Settings that a test or module replaces (`@pytest.fixture def overrides()`)."""
    return {}


@pytest.fixture
def settings(stores: Stores, model: ScriptedModel, overrides: dict[str, Any], tmp_path: Path) -> Settings:
    values: dict[str, Any] = {
        "app_env": "test",
        "mongodb_uri": stores.mongodb_uri,
        "mongodb_db": stores.database,
        "redis_url": stores.redis_url,
        "desk_dir": tmp_path / "desk",
        "connections_dir": tmp_path / "connections",
        "custom_tools_dir": tmp_path / "custom_tools",
        "ai_enabled": True,
        "ai_allow_local_provider": True,
        "ai_base_url": model.base_url,
        "ai_model": "demo",
        "rate_limit_max": 100_000,
        "rate_limit_login_max": 1_000,
        "ai_rate_limit_max": 1_000,
        "log_level": "warning",
    }
    return load_settings(_env_file=None, **(values | overrides))


@dataclass
class Server:
    """The real program on a loopback port, and the assembled desk behind it."""

    url: str
    desk: Desk
    settings: Settings
    clock: Clock
    signed_in: list[httpx.AsyncClient] = field(default_factory=list)

    async def client(self) -> httpx.AsyncClient:
        """A client that is nobody yet."""
        client = httpx.AsyncClient(base_url=self.url, timeout=15, trust_env=False)
        self.signed_in.append(client)
        return client

    async def sign_in_as(self, who: str) -> httpx.AsyncClient:
        """A client of one of the standing cast: owner, stranger, dispatcher, viewer."""
        await self.person(who)
        client = await self.client()
        email, password, _, _ = CAST[who]
        answer = await client.post("/api/v1/auth/login", json={"email": email, "password": password})
        assert answer.status_code == 200, answer.text
        return client

    async def person(self, who: str) -> Person:
        """The person of the cast, made when missing."""
        email, password, name, role = CAST[who]
        accounts = self.desk.accounts.accounts
        user_id: ObjectId = await accounts.ensure_user(email, password, name, role)  # type: ignore[arg-type]
        person = await accounts.active_person(user_id)
        assert person is not None
        return person

    async def close(self) -> None:
        for client in self.signed_in:
            await client.aclose()


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """`app` on a free loopback port, in this event loop; its address."""
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        lifespan="on",
        log_config=None,
        access_log=False,
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]  # pytest keeps its own
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            await task
            raise RuntimeError("the server did not start")
        await asyncio.sleep(0.005)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, 20)


@pytest.fixture
async def server(database: Database, settings: Settings, clock: ShiftedClock) -> AsyncIterator[Server]:
    """The real program, with this test's clock and settings."""
    opened: list[Desk] = []

    @asynccontextmanager
    async def opener(given: Settings) -> AsyncIterator[Desk]:
        async with open_desk(given, clock) as desk:
            opened.append(desk)
            yield desk

    async with serving(create_app(settings, opener)) as url:
        running = Server(url, opened[0], settings, clock)
        yield running
        await running.close()


@pytest.fixture
async def desk(database: Database, settings: Settings, clock: ShiftedClock) -> AsyncIterator[Desk]:
    """The assembled services alone, without a server."""
    async with open_desk(settings, clock) as opened:
        yield opened


@pytest.fixture
def sign_in_as(server: Server) -> Callable[[str], Awaitable[httpx.AsyncClient]]:
    """`await sign_in_as("owner")` gives a signed-in client of the real server."""
    return server.sign_in_as
