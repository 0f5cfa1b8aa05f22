"""Ids: MongoDB ObjectIds on the inside, 24 hex digits on the wire."""

from __future__ import annotations

import hashlib
import re
import secrets

from bson import ObjectId

from app.core.errors import ErrorDetail, ValidationFailed

_HEX24 = re.compile(r"[0-9a-fA-F]{24}\Z")


def parse_id(value: str, field: str = "id") -> ObjectId:
    """The ObjectId of `value`; a malformed one is a 400 that names `field` (WO-10)."""
    if not _HEX24.match(value):
        raise ValidationFailed("That id is not valid.", details=[ErrorDetail(field, "Must be 24 hexadecimal digits.")])
    return ObjectId(value)


def is_id(value: object) -> bool:
    return isinstance(value, str) and _HEX24.match(value) is not None


def new_id() -> ObjectId:
    return ObjectId()


def derived_id(*parts: str) -> ObjectId:
    """An ObjectId that is a pure function of `parts`: a retried creation meets its own document (D-5)."""
    return ObjectId(hashlib.sha256("\x1f".join(parts).encode()).digest()[:12])


def new_token() -> str:
    """256 random bits, URL-safe: refresh and reset tokens (AUTH-4, AUTH-7)."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """SHA-256 hex of a token: what is stored in its place."""
    return hashlib.sha256(token.encode()).hexdigest()
