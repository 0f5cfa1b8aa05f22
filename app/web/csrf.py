"""Who may write: origin checks for every write, a token for forms and htmx (HTTP-6).

The token is an HMAC of a random cookie. `Sec-Fetch-Site` and `Origin` are checked first, so a cookie planted by a
neighbouring subdomain does not help an attacker.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any
from urllib.parse import parse_qs, urlsplit

from litestar.connection import Request
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import Forbidden

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_WITHOUT_FORMS = ("/api/", "/static/", "/health", "/ready", "/metrics")
_HEADER, _FIELD = "x-csrftoken", "_csrf_token"


class CsrfGuard(ASGIMiddleware):
    """Refuses foreign writes with 403; gives every HTML visitor the cookie their token is made from."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, *, key: str, public_url: str, secure: bool) -> None:
        self._key = key.encode()
        self._origin = _origin(public_url)
        self._cookie = "__Host-csrf" if secure else "csrf"
        self._attributes = "; Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        is_write, has_forms = scope.get("method") not in _SAFE, not scope["path"].startswith(_WITHOUT_FORMS)
        if not is_write and not has_forms:
            await next_app(scope, receive, send)
            return
        request: Request[Any, Any, Any] = Request(scope, receive, send)
        if is_write and self._is_foreign(request):
            raise Forbidden("This request came from another site and was refused.")
        if not has_forms:
            await next_app(scope, receive, send)
            return
        seed = request.cookies.get(self._cookie, "")
        if is_write and not self._token_matches(request, seed):
            raise Forbidden("This form is out of date. Reload the page and send it again.")
        fresh = "" if seed else secrets.token_urlsafe(32)
        scope["state"]["csrf_token"] = self._token(seed or fresh)
        await next_app(scope, receive, self._with_cookie(send, fresh) if fresh else send)

    def _is_foreign(self, request: Request[Any, Any, Any]) -> bool:
        site = request.headers.get("sec-fetch-site")
        if site is not None and site not in ("same-origin", "none", "same-site"):
            return True
        origin = request.headers.get("origin")
        if origin is None:
            return False
        return _origin(origin) not in (
            self._origin,
            _origin(f"{request.url.scheme}://{request.headers.get('host', '')}"),
        )

    def _token_matches(self, request: Request[Any, Any, Any], seed: str) -> bool:
        given = request.headers.get(_HEADER)
        if given is None:
            given = _form_token(request)
        return bool(seed) and hmac.compare_digest(given.encode(), self._token(seed).encode())

    def _token(self, seed: str) -> str:
        return hmac.new(self._key, b"csrf:" + seed.encode(), hashlib.sha256).hexdigest()

    def _with_cookie(self, send: Send, fresh: str) -> Send:
        line = f"{self._cookie}={fresh}{self._attributes}".encode()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"set-cookie", line)]
            await send(message)

        return sending


def _form_token(request: Request[Any, Any, Any]) -> str:
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return ""
    body: bytes = request.scope["state"]["raw_body"]  # read by BodyGuard
    fields = parse_qs(body.decode("utf-8", "replace"))
    return fields.get(_FIELD, [""])[0]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
