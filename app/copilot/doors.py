"""What both doors of the copilot ask before they open: AI on, and not too often (D-22, HTTP-4)."""

from __future__ import annotations

from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from app.accounts.guards import person_of
from app.accounts.people import Person
from app.copilot.service import StartLimit
from app.core.settings import Settings
from app.governance.errors import AiUnavailable
from app.web.client import client_address
from app.web.limits import Limit, RateLimiter

_WINDOW_S = 60


async def ai_enabled(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """A guard: 503 `AI_UNAVAILABLE` on a desk without AI, after authentication (D-22)."""
    person_of(connection)
    settings: Settings = connection.app.state.desk.settings
    if not settings.ai_enabled:
        raise AiUnavailable


def start_limit(
    request: Request[Any, Any, Any], person: Person, limiter: RateLimiter, settings: Settings
) -> StartLimit:
    """Counts one stream start of this person at this address; the counting raises `RateLimited`."""
    limit = Limit("ai", settings.ai_rate_limit_max, _WINDOW_S)
    key = f"{person.id}:{client_address(request, settings.trust_proxy_hops)}"

    async def count() -> None:
        await limiter.hit(limit, key)

    return count
