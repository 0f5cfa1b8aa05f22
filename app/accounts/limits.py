"""How often one may try to get in (HTTP-4). The page and the JSON door share each bucket."""

from __future__ import annotations

import hashlib
from typing import Any

from litestar import Request

from app.core.settings import Settings
from app.web.client import client_address
from app.web.limits import Limit, RateLimiter

_WINDOW_S = 15 * 60


class SignInLimits:
    """One request's tries. Each method raises `RateLimited` past the limit."""

    def __init__(self, limiter: RateLimiter, settings: Settings, request: Request[Any, Any, Any]) -> None:
        self._limiter = limiter
        self._settings = settings
        self._address = client_address(request, settings.trust_proxy_hops)

    async def login(self) -> None:
        await self._limiter.hit(Limit("login", self._settings.rate_limit_login_max, _WINDOW_S), self._address)

    async def register(self) -> None:
        await self._limiter.hit(Limit("register", self._settings.rate_limit_login_max, _WINDOW_S), self._address)

    async def forgot(self, email: str) -> None:
        """Per client address and mail address; the latter is hashed, for it lands in Redis."""
        key = hashlib.sha256(f"{self._address} {email}".encode()).hexdigest()
        await self._limiter.hit(Limit("forgot", self._settings.rate_limit_forgot_max, _WINDOW_S), key)
