"""The desk as people with accounts meet it: the real program on loopback, a clock that is moved, a mailbox."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from bson import ObjectId

from app.accounts.actors import Role
from app.accounts.assembly import AccountsFeature
from app.accounts.events import SessionsEnded
from app.accounts.repository import UserRepository
from app.core.clock import ManualClock, SystemClock
from app.core.mongo import Database
from app.core.settings import Settings
from app.desk import Desk, open_desk
from app.main import create_app
from tests.conftest import serving

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


def cookie_attributes(headers: list[str]) -> dict[str, list[str]]:
    """Per cookie its attributes, `Expires` aside (which each must have), `Domain` and `Secure` included if there."""
    found = {}
    for header in headers:
        pair, *attributes = header.split("; ")
        assert any(attribute.startswith("Expires=") or attribute.startswith("expires=") for attribute in attributes)
        found[pair.split("=", 1)[0]] = sorted(a for a in attributes if not a.lower().startswith("expires="))
    return found


@contextlib.asynccontextmanager
async def open_house(settings: Settings, password_hash: str, mailbox: Mailbox) -> AsyncIterator[House]:
    """The real program on loopback. `mailbox` must already be what the desk takes for its mailer."""
    clock, desks = ManualClock(SystemClock().now()), []
    ended: list[SessionsEnded] = []

    async def note(event: SessionsEnded) -> None:
        ended.append(event)

    @contextlib.asynccontextmanager
    async def opener(given: Settings) -> AsyncIterator[Desk]:
        async with open_desk(given, clock) as desk:
            desk.announcements.on(SessionsEnded, note)
            desks.append(desk)
            yield desk
            await desk.limiter.close()

    async with contextlib.AsyncExitStack() as cleanup:
        url = await cleanup.enter_async_context(serving(create_app(settings, opener)))
        desk = desks[0]
        yield House(url, desk.accounts, desk.database, clock, mailbox, ended, password_hash, cleanup)
