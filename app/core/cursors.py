"""Signed keyset cursors: where a list goes on. Tampering is a 400 (WO-3)."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from datetime import UTC, datetime
from typing import NamedTuple

from bson import ObjectId

from app.core.errors import ErrorDetail, ValidationFailed

_MAC_BYTES = 16


class Position(NamedTuple):
    """The last row already shown, in `createdAt`, `_id` descending order."""

    created_at: datetime
    id: ObjectId


class Cursors:
    """Seals positions with HMAC-SHA-256 under a server key, bound to the list they belong to."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def seal(self, position: Position, scope: str) -> str:
        """An opaque URL-safe text for `position` in the list `scope`."""
        ms = round(position.created_at.timestamp() * 1000)
        body = json.dumps([ms, str(position.id)], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._mac(body, scope) + body).decode().rstrip("=")

    def open(self, text: str, scope: str) -> Position:
        """The position sealed in `text`. Raises `ValidationFailed` for anything this server did not seal."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
            if not hmac.compare_digest(mac, self._mac(body, scope)):
                raise ValueError
            ms, oid = json.loads(body)
            return Position(datetime.fromtimestamp(ms / 1000, UTC), ObjectId(oid))
        except (ValueError, binascii.Error, TypeError, OverflowError):
            detail = ErrorDetail("cursor", "Is not one of ours, or belongs to another list. Start from the first page.")
            raise ValidationFailed("That page cannot be found.", details=[detail]) from None

    def _mac(self, body: bytes, scope: str) -> bytes:
        return hmac.digest(self._key, scope.encode() + b"\x00" + body, "sha256")[:_MAC_BYTES]
