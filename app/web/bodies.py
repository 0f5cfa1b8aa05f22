"""What may come in: size, content type, strict JSON, no operator keys (HTTP-2).

The body of an API write is read once, bounded, checked, and then handed on unchanged.
"""

from __future__ import annotations

import re
from typing import Any, cast
from urllib.parse import parse_qsl

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, ReceiveMessage, Scope, Send

from app.core.errors import ErrorDetail, PayloadTooLarge, UnsupportedMediaType, ValidationFailed
from app.core.strict_json import StrictJsonError, parse_strict

MAX_JSON_BYTES = 32_768
MAX_FORM_BYTES = 131_072
_MAX_DEPTH = 32
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BAD_NAMES = frozenset({"__proto__", "constructor", "prototype"})
_SEGMENTS = re.compile(r"[\[\].]+")


class BodyGuard(ASGIMiddleware):
    """Refuses what no handler should ever see: 400, 413 or 415."""

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        if scope["query_string"]:
            _check_query(scope["query_string"])
        if scope.get("method") not in _WRITES:
            await next_app(scope, receive, send)
            return
        is_api = scope["path"].startswith("/api/")
        body = await _read(scope, receive, MAX_JSON_BYTES if is_api else MAX_FORM_BYTES)
        scope["state"]["raw_body"] = body
        if is_api and body:
            _check_json(scope, body)
        await next_app(scope, _replay(body, receive), send)


def _check_query(query: bytes) -> None:
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="surrogateescape"):
        if any(_forbidden(part) for part in _SEGMENTS.split(name)):
            raise _refused("This parameter name is not allowed.", "_")
        if "\x00" in name or "\x00" in value:
            raise _refused("A parameter holds a NUL character.", "_")


def _check_json(scope: Scope, body: bytes) -> None:
    content_type = _header(scope, b"content-type").split(";")[0].strip().lower()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaType
    try:
        value = parse_strict(body, max_bytes=MAX_JSON_BYTES, max_depth=_MAX_DEPTH)
    except StrictJsonError as fault:
        raise _refused(f"The body is not valid JSON: {fault}", "_") from None
    _check_keys(value)


def _check_keys(value: Any) -> None:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            if any(_forbidden(key) for key in current):
                raise _refused("A key of the body is not allowed.", "_")
            pending.extend(current.values())
        elif isinstance(current, list):
            pending.extend(current)


def _forbidden(key: str) -> bool:
    return key.startswith("$") or key in _BAD_NAMES


def _refused(message: str, field: str) -> ValidationFailed:
    return ValidationFailed(message, details=[ErrorDetail(field, message)])


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes:
    declared = _header(scope, b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise PayloadTooLarge(f"The request is larger than {limit // 1024} kB.")
    chunks, size = [], 0
    while True:
        message = cast("dict[str, Any]", await receive())
        if message["type"] == "http.disconnect":
            break
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise PayloadTooLarge(f"The request is larger than {limit // 1024} kB.")
        chunks.append(chunk)
        if not message.get("more_body", False):
            break
    return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body` once, then whatever comes on the wire (the disconnect)."""
    given = False

    async def replayed() -> ReceiveMessage:
        nonlocal given
        if given:
            return await receive()
        given = True
        return cast("ReceiveMessage", {"type": "http.request", "body": body, "more_body": False})

    return replayed


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
