"""The limit that holds for everything but health: per client address (HTTP-4)."""

from __future__ import annotations

from collections.abc import Callable

from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from app.web.client import client_address
from app.web.hx import AnyConnection
from app.web.limits import Limit, RateLimiter

_UNCOUNTED = ("/health", "/ready")


class OverallRateLimit(ASGIMiddleware):
    """Counts each request of an address; static files and health are free."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, limit: Limit, hops: int, limiter_of: Callable[[Scope], RateLimiter]) -> None:
        self._limit = limit
        self._hops = hops
        self._limiter_of = limiter_of

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        path = scope["path"]
        if path not in _UNCOUNTED and not path.startswith("/static/"):
            connection: AnyConnection = ASGIConnection(scope)
            await self._limiter_of(scope).hit(self._limit, client_address(connection, self._hops))
        await next_app(scope, receive, send)
