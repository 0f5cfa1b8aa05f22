"""The accounts feature as people meet it: a real server on loopback, real MongoDB and Valkey, a clock that is moved."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from bson import ObjectId
from litestar import Litestar, Request, get
from litestar.di import Provide
from litestar.plugins.pydantic import PydanticPlugin

from app.accounts.actors import Role
from app.accounts.api import API
from app.accounts.assembly import AccountsFeature, open_accounts
from app.accounts.events import SessionsEnded
from app.accounts.guards import person_of
from app.accounts.middleware import Authentication
from app.accounts.pages import PAGES
from app.accounts.people import Person
from app.accounts.repository import UserRepository
from app.core.clock import ManualClock, SystemClock
from app.core.events import Announcements
from app.core.mongo import Database
from app.core.settings import Settings
from app.web.bodies import BodyGuard
from app.web.csrf import CsrfGuard
from app.web.error_answers import ErrorAnswers
from app.web.limits import RateLimiter
from app.web.pages import Pages
from app.web.request_context import RequestContext
from app.web.templates import create_environment

PASSWORD = "Passw0rd1"
ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@dataclass(frozen=True, slots=True)
class Mail:
    to: str
    subject: str
    text: str

    @property
    def token(self) -> str:
        return self.text.split("token=", 1)[1].split()[0]


class Mailbox:
    """Takes the desk's mail; `next()` awaits one."""

    def __init__(self) -> None:
        self._mails: asyncio.Queue[Mail] = asyncio.Queue(100)

    async def send(self, to: str, subject: str, text: str) -> None:
        await self._mails.put(Mail(to, subject, text))

    async def next(self) -> Mail:
        return await asyncio.wait_for(self._mails.get(), 10)

    @property
    def empty(self) -> bool:
        return self._mails.empty()


@dataclass(slots=True)
class House:
    url: str
    feature: AccountsFeature
    database: Database
    clock: ManualClock
    mailbox: Mailbox
    ended: list[SessionsEnded]
    password_hash: str
    cleanup: contextlib.AsyncExitStack
    made: int = field(default=0)

    async def client(self, **headers: str) -> httpx.AsyncClient:
        """A browser or script of its own, at an address of its own."""
        address = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        client = httpx.AsyncClient(base_url=self.url, timeout=30, headers={"X-Forwarded-For": address} | headers)
        return await self.cleanup.enter_async_context(client)

    async def account(self, role: Role = "user", email: str | None = None, name: str = "Ada Fox") -> ObjectId:
        """A person with the password `PASSWORD`."""
        self.made += 1
        email = email or f"{role}{self.made}@example.com"
        user = await UserRepository().insert(email, self.password_hash, name, role, self.clock.now())
        return user.id

    async def sign_in(self, email: str, **headers: str) -> httpx.AsyncClient:
        client = await self.client(**headers)
        answer = await client.post("/api/v1/auth/login", json={"email": email, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        return client

    async def sign_in_as(self, role: Role) -> tuple[httpx.AsyncClient, ObjectId]:
        """A new person of that role, signed in."""
        user_id = await self.account(role)
        return await self.sign_in(f"{role}{self.made}@example.com"), user_id

    async def user(self, user_id: ObjectId) -> dict[str, Any]:
        """The stored document."""
        found = await self.database["users"].find_one({"_id": user_id})
        assert found is not None
        return found


async def csrf_token(client: httpx.AsyncClient, path: str) -> str:
    """The token in the page's form."""
    page = await client.get(path)
    assert page.status_code == 200, page.text
    return page.text.split('name="_csrf_token" value="', 1)[1].split('"', 1)[0]


async def send_form(
    client: httpx.AsyncClient, path: str, fields: dict[str, str], page: str | None = None, **headers: str
) -> httpx.Response:
    """Fills the form on `page` (default: at `path` itself) and sends it."""
    token = await csrf_token(client, page or path)
    return await client.post(path, data=fields | {"_csrf_token": token}, headers=ORIGIN | headers)


@contextlib.asynccontextmanager
async def open_house(
    settings: Settings, database: Database, limiter: RateLimiter, password_hash: str
) -> AsyncIterator[House]:
    clock, mailbox, announcements = ManualClock(SystemClock().now()), Mailbox(), Announcements()
    ended: list[SessionsEnded] = []

    async def note(event: SessionsEnded) -> None:
        ended.append(event)

    announcements.on(SessionsEnded, note)
    feature = open_accounts(settings, clock, announcements, mailbox)
    async with contextlib.AsyncExitStack() as cleanup:
        url = await cleanup.enter_async_context(_serving(_app(settings, clock, limiter, feature)))
        yield House(url, feature, database, clock, mailbox, ended, password_hash, cleanup)
        await feature.sign_in.settled()


@get("/app/work-orders", include_in_schema=False)
async def _landing(request: Request[Any, Any, Any]) -> str:
    return person_of(request).email


def _app(settings: Settings, clock: ManualClock, limiter: RateLimiter, feature: AccountsFeature) -> Any:
    environment = create_environment()

    async def context(request: Request[Any, Any, Any]) -> dict[str, Any]:
        return {
            "person": request.scope.get("user"),
            "csrf_token": request.scope["state"].get("csrf_token", ""),
            "nav": "",
            "pending_approvals": 0,
            "ai": False,
            "now": clock.now(),
        }

    async def person(request: Request[Any, Any, Any]) -> Person:
        return person_of(request)

    given = {
        "settings": settings,
        "pages": Pages(environment, context),
        "limiter": limiter,
        "accounts": feature.accounts,
        "sign_in": feature.sign_in,
        "user_admin": feature.user_admin,
    }
    dependencies = {name: _provide(value) for name, value in given.items()}
    csrf = CsrfGuard(key="k" * 32, public_url=settings.public_url, secure=settings.is_production)
    app = Litestar(
        [*API, *PAGES, _landing],
        middleware=[BodyGuard(), csrf, Authentication(settings, lambda _scope: feature)],
        exception_handlers={Exception: ErrorAnswers(environment, debug=False, sign_in_path="/login")},
        plugins=[PydanticPlugin(prefer_alias=True)],
        dependencies=dependencies | {"person": Provide(person)},
        openapi_config=None,
    )
    return RequestContext(app, hsts=settings.is_production)


def _provide(value: object) -> Provide:
    return Provide(lambda: value, sync_to_thread=False)


class _Server(uvicorn.Server):
    """A server that leaves the process's signals alone and tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextlib.asynccontextmanager
async def _serving(app: Any) -> AsyncIterator[str]:
    server = _Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_config=None, proxy_headers=False)
    )
    task = asyncio.create_task(server.serve())
    try:
        await asyncio.wait_for(server.listening.wait(), 10)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, 20)
