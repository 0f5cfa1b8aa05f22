"""A small HTTP service as plain ASGI: token, JSON in and out, `Idempotency-Key`, and a record of what arrived."""

from __future__ import annotations

import asyncio
import hmac
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

MAX_BODY_BYTES = 64 * 1024
MAX_RECORDED = 1_000
WAIT_S = 10.0

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came in: `target` is the path and query byte for byte, header names are in lower case."""

    method: str
    path: str
    target: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered; `body` is JSON, none where it is None."""

    status: int
    body: Any = None


class DemoService(ABC):
    """An ASGI app below `/api`. A subclass says what it does in `answer`; POSTs are remembered by their key."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._remembered: dict[str, Reply] = {}
        self._changed = asyncio.Condition()
        self.requests: list[Received] = []
        """What arrived with the right token, oldest first, at most `MAX_RECORDED`."""

    @abstractmethod
    def answer(self, request: Received) -> Reply:
        """The reply to a request with the right token; `path` is what follows `/api`."""

    async def received(self, count: int) -> list[Received]:
        """The requests, once there are `count` of them. Raises `TimeoutError`."""
        async with asyncio.timeout(WAIT_S), self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _send(send, await self._reply(scope, receive))

    async def _reply(self, scope: Any, receive: Receive) -> Reply:
        if (scope["method"], scope["path"]) == ("GET", "/health"):
            return Reply(200, {"status": "ok"})
        if not scope["path"].startswith("/api/"):
            return Reply(404, {"message": "There is nothing at this address."})
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not hmac.compare_digest(headers.get("authorization", "").encode(), self._token.encode()):
            return Reply(401, {"message": "The token is not right."})
        text = await _body(receive)
        body = _parsed(text)
        if text is None or (text and body is None):
            return Reply(400, {"message": "The body must be JSON of at most 64 kB."})
        return await self._recorded(_received(scope, headers, body))

    async def _recorded(self, request: Received) -> Reply:
        async with self._changed:
            if len(self.requests) < MAX_RECORDED:
                self.requests.append(request)
            self._changed.notify_all()
        key = request.headers.get("idempotency-key", "")
        if not key:
            return self.answer(request)
        if key not in self._remembered:
            if len(self._remembered) >= MAX_RECORDED:
                self._remembered.pop(next(iter(self._remembered)))
            self._remembered[key] = self.answer(request)
        return self._remembered[key]


def _received(scope: Any, headers: dict[str, str], body: Any) -> Received:
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    return Received(scope["method"], scope["path"].removeprefix("/api"), target, dict(parse_qsl(query)), headers, body)


async def _body(receive: Receive) -> bytes | None:
    """The request's body, None where it is too large or the client left."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or size > MAX_BODY_BYTES:
            return None
        parts.append(message["body"])
        if not message["more_body"]:
            return b"".join(parts)


def _parsed(text: bytes | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


async def _send(send: Send, reply: Reply) -> None:
    content = b"" if reply.body is None else json.dumps(reply.body, ensure_ascii=False).encode()
    headers = [(b"content-length", str(len(content)).encode())] if reply.status != 204 else []
    if content:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": content, "more_body": False})
