"""JSON from the model or from a tool with one canonical form: what is shown, hashed and run (D-8)."""

from __future__ import annotations

import unicodedata
from typing import Any

from app.core.canonical import canonical_json

MAX_BYTES = 32 * 1024
MAX_DEPTH = 24


def normal_json(value: Any, depth: int = 0) -> Any:
    """A copy whose texts are NFC and trimmed. Raises `ValueError` where two keys become one, or it is too deep."""
    if depth > MAX_DEPTH:
        raise ValueError(f"Is nested more than {MAX_DEPTH} levels deep.")
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    if isinstance(value, list):
        return [normal_json(item, depth + 1) for item in value]
    if isinstance(value, dict):
        found = {unicodedata.normalize("NFC", key): normal_json(item, depth + 1) for key, item in value.items()}
        if len(found) != len(value):
            raise ValueError("Holds the same key twice in one object.")
        return found
    return value


def bounded_json(value: Any) -> Any:
    """`value` normalised. Raises `ValueError` for what has no canonical form (RFC 8785) or is too large."""
    normal = normal_json(value)
    try:
        canonical = canonical_json(normal)
    except (ValueError, TypeError):
        raise ValueError("Holds a value that JSON cannot carry exactly, such as an integer beyond 2^53.") from None
    if b"\\u0000" in canonical:
        raise ValueError("Holds a NUL character.")
    if len(canonical) > MAX_BYTES:
        raise ValueError(f"Is longer than {MAX_BYTES} bytes.")
    return normal
