"""The access token: a JWT of 15 minutes that names a person and a session, and proves nothing else (AUTH-3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

import jwt
from bson import ObjectId

from app.accounts.actors import Role
from app.core.clock import Clock
from app.core.ids import is_id

ACCESS_LIFE = timedelta(minutes=15)
ISSUER, AUDIENCE = "workorders", "workorders-api"
_ALGORITHM = "HS256"
_VERIFIED_KEPT = 2_048
_CLAIMS = ["sub", "role", "sid", "iss", "aud", "iat", "exp"]


@dataclass(frozen=True, slots=True)
class AccessClaims:
    """Whom a valid token names. The role in it is for clients only; ours comes from the database (AUTH-5)."""

    user_id: ObjectId
    sid: str


class AccessTokens:
    def __init__(self, key: str, clock: Clock) -> None:
        self._key = key
        self._clock = clock
        self._verified = lru_cache(maxsize=_VERIFIED_KEPT)(self._verify)  # a token comes with each of many requests

    def issue(self, user_id: ObjectId, role: Role, sid: str) -> str:
        now = self._clock.now()
        claims = {
            "sub": str(user_id),
            "role": role,
            "sid": sid,
            "iss": ISSUER,
            "aud": AUDIENCE,
            "iat": int(now.timestamp()),
            "exp": int((now + ACCESS_LIFE).timestamp()),
        }
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM)

    def read(self, token: str) -> AccessClaims | None:
        """The claims of a token that we signed and that has not expired, else None."""
        try:
            claims, expires = self._verified(token)
        except jwt.InvalidTokenError:
            return None
        return claims if expires > self._clock.now().timestamp() else None

    def _verify(self, token: str) -> tuple[AccessClaims, int]:
        """A token that we signed, and its end in Unix seconds. Raises `jwt.InvalidTokenError`: not remembered."""
        claims = self._decoded(token)
        user_id, sid, expires = claims["sub"], claims["sid"], claims["exp"]
        if not is_id(user_id) or not isinstance(sid, str) or not isinstance(expires, int):
            raise jwt.InvalidTokenError
        return AccessClaims(ObjectId(user_id), sid), expires

    def _decoded(self, token: str) -> dict[str, Any]:
        decoded: dict[str, Any] = jwt.decode(
            token,
            self._key,
            algorithms=[_ALGORITHM],
            audience=AUDIENCE,
            issuer=ISSUER,
            options={"require": _CLAIMS, "verify_exp": False, "verify_iat": False},  # the desk's clock decides
        )
        return decoded
