"""Around the whole program: request id, access log, security headers on every answer (HTTP-2, HTTP-6).

It wraps the application itself, because Litestar's middleware does not see requests that match no route.
"""

from __future__ import annotations

import re
import time
import uuid

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from app.core.logging import get_logger
from app.web.hx import AnyConnection

log = get_logger("access")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def request_id(connection: AnyConnection) -> str:
    """This request's id, as echoed in `X-Request-Id`."""
    return str(connection.scope["state"]["request_id"])


class RequestContext:
    """Gives each request its id and each answer its headers; logs method, route, status and time, nothing else.

    `app` is the application inside.
    """

    def __init__(self, app: ASGIApp, *, hsts: bool) -> None:
        self.app = app
        headers = {
            "Content-Security-Policy": CSP,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "strict-origin-when-cross-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        } | ({"Strict-Transport-Security": "max-age=31536000; includeSubDomains"} if hsts else {})
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        given = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"x-request-id"), "")
        identifier = given if _REQUEST_ID.match(given) else str(uuid.uuid4())
        scope["state"] = {"request_id": identifier}
        started, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [(name.lower(), value) for name, value in message["headers"]]
                named = {name for name, _ in own}
                ours = [header for header in self._headers if header[0] not in named]
                message["headers"] = [*own, (b"x-request-id", identifier.encode("latin-1")), *ours]
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=identifier):
            try:
                await self.app(scope, receive, send_with_headers)
            finally:
                _log(scope, status, started)


def _log(scope: Scope, status: int, started: float) -> None:
    if scope["path"].startswith("/static/") or scope["path"] in ("/health", "/ready"):
        return
    log.info(
        "request",
        method=scope.get("method"),
        route=scope.get("path_template") or "unrouted",
        status=status,
        ms=round((time.perf_counter() - started) * 1000, 1),
    )
