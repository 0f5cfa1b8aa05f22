"""The two cookies of a session, with exactly the attributes of AUTH-3 and AUTH-4."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from litestar.datastructures import Cookie

from app.accounts.sessions import REFRESH_LIFE, SignedIn
from app.accounts.tokens import ACCESS_LIFE

ACCESS, REFRESH = "access_token", "refresh_token"
_LONG_AGO_S = -365 * 24 * 3600


def signed_in_cookies(signed_in: SignedIn, *, secure: bool) -> list[Cookie]:
    """Both cookies; `secure` in production."""
    return [
        _cookie(ACCESS, signed_in.access_token, ACCESS_LIFE, secure),
        _cookie(REFRESH, signed_in.refresh_token, REFRESH_LIFE, secure),
    ]


def cleared_cookies(*, secure: bool) -> list[Cookie]:
    """Both cookies, empty and expired long ago."""
    return [_cookie(ACCESS, "", None, secure), _cookie(REFRESH, "", None, secure)]


def _cookie(name: str, value: str, life: timedelta | None, secure: bool) -> Cookie:
    seconds = int(life.total_seconds()) if life else None
    return Cookie(
        key=name,
        value=value,
        path="/",
        max_age=seconds,
        expires=_LONG_AGO_S if seconds is None else seconds,
        httponly=True,
        secure=secure,
        samesite=cast("Any", "Lax"),  # as the original desk writes it; Litestar's type knows the lower case only
    )
