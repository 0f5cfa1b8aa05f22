"""The audit chain as arithmetic: each row's HMAC covers the row and the HMAC before it (D-20)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import rfc8785

from app.core.canonical import canonical_json
from app.core.clock import iso_ms

GENESIS = "0" * 64
"""What the first row follows."""

_OUTSIDE = frozenset({"_id", "hmac"})


@dataclass(frozen=True, slots=True)
class Verification:
    """`rows` that hold, one after the other, and the `head` they end in; `fault` names the first that does not."""

    rows: int
    head: str
    fault: str | None = None


def seal(row: dict[str, Any], key: bytes) -> str:
    """HMAC-SHA256 hex of everything in `row` but its `_id` and `hmac`. Raises for what JSON cannot carry."""
    covered = {name: _plain(value) for name, value in row.items() if name not in _OUTSIDE}
    return hmac.new(key, canonical_json(covered), hashlib.sha256).hexdigest()


async def verify(rows: AsyncIterable[dict[str, Any]], key: bytes, kept_head: str | None = None) -> Verification:
    """Walks `rows`, by `seq`, to the first fault. `kept_head`: a head noted earlier, which must still be there."""
    count, head, seen = 0, GENESIS, kept_head in (None, GENESIS)
    async for row in rows:
        if fault := _fault(row, count + 1, head, key):
            return Verification(count, head, fault)
        count, head = count + 1, row["hmac"]
        seen = seen or head == kept_head
    if not seen:
        return Verification(
            count, head, f"row {count + 1} is missing: the given head comes after the last row there is"
        )
    return Verification(count, head)


def _fault(row: dict[str, Any], seq: int, prev: str, key: bytes) -> str | None:
    if row["seq"] != seq:
        return f"row {seq} is missing" if row["seq"] > seq else f"row {row['seq']} stands there twice"
    if not _holds(row, key):
        return f"row {seq} was changed after it was written"
    return None if row["prev"] == prev else f"row {seq} does not follow row {seq - 1}"


def _holds(row: dict[str, Any], key: bytes) -> bool:
    try:
        return hmac.compare_digest(seal(row, key), str(row.get("hmac")))
    except (rfc8785.CanonicalizationError, TypeError):
        return False


def _plain(value: Any) -> Any:
    return iso_ms(value) if isinstance(value, datetime) else value
