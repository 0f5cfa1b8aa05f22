"""Who asks: each request's person, from the access token and the database (AUTH-5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from app.accounts.askers import Asker
from app.accounts.assembly import AccountsFeature
from app.accounts.cookies import ACCESS, REFRESH, cleared_cookies, signed_in_cookies
from app.accounts.devices import device_of
from app.accounts.people import Person
from app.accounts.service import AccountsService, person_from
from app.accounts.tokens import AccessClaims
from app.core.errors import Unauthorized
from app.core.settings import Settings
from app.web.hx import AnyConnection


class Authentication(ASGIMiddleware):
    """Sets `scope["user"]` to the `Person` or None, and `scope["auth"]` to the claims that named them.

    For handlers with `READS_PERSON` the user may be an `Asker`.

    Pages and htmx requests whose access token is gone renew silently from the refresh token; JSON does not.
    `feature_of` finds the assembled feature in the scope's application.
    """

    scopes = (ScopeType.HTTP,)

    def __init__(self, settings: Settings, feature_of: Callable[[Scope], AccountsFeature]) -> None:
        self._hops = settings.trust_proxy_hops
        self._secure = settings.is_production
        self._feature_of = feature_of

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        scope["user"] = scope["auth"] = None
        path = scope["path"]
        if not (path.startswith("/static/") or path in ("/health", "/ready")):
            send = await self._identify(scope, send, renews=not path.startswith("/api/"))
        await next_app(scope, receive, send)

    async def _identify(self, scope: Scope, send: Send, *, renews: bool) -> Send:
        connection: AnyConnection = ASGIConnection(scope)
        feature = self._feature_of(scope)
        claims = feature.tokens.read(connection.cookies.get(ACCESS, ""))
        if claims is not None:
            scope["user"] = await self._person(scope, feature.accounts, claims)
            scope["auth"] = claims
            return send
        refresh_token = connection.cookies.get(REFRESH)
        if not refresh_token or not renews:
            return send
        return await self._renew(connection, feature, refresh_token, send)

    async def _person(self, scope: Scope, accounts: AccountsService, claims: AccessClaims) -> Person | Asker | None:
        """A handler may read the person itself; not with a query, for its faults are told to nobody unknown."""
        if "reads_person" in scope["route_handler"].opt and not scope["query_string"]:
            return accounts.asker(claims.user_id, claims.sid)
        return await accounts.person(claims.user_id, claims.sid)

    async def _renew(self, connection: AnyConnection, feature: AccountsFeature, refresh_token: str, send: Send) -> Send:
        try:
            signed_in = await feature.renewals.renew(refresh_token, device_of(connection, self._hops))
        except Unauthorized:
            return _with_cookies(send, cleared_cookies(secure=self._secure))
        connection.scope["user"] = person_from(signed_in.user, signed_in.sid)
        connection.scope["auth"] = AccessClaims(signed_in.user.id, signed_in.sid)
        return _with_cookies(send, signed_in_cookies(signed_in, secure=self._secure))


def _with_cookies(send: Send, cookies: Sequence[Cookie]) -> Send:
    """A `send` that adds `cookies`, but for those that the handler sets itself (it signs in or out)."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message["headers"])
            own = {value.split(b"=", 1)[0] for name, value in headers if name.lower() == b"set-cookie"}
            added = [cookie.to_encoded_header() for cookie in cookies if cookie.key.encode() not in own]
            message["headers"] = [*headers, *added]
        await send(message)

    return sending
