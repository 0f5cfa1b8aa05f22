"""Keys and segments that a lenient server could take for others: more hole than use, so they only ever raise a tier."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any


def loose(text: str) -> str:
    """`text` as a server might read it that ignores case, width, and dots or spaces at the end."""
    return unicodedata.normalize("NFKC", text).casefold().strip(" ").rstrip(". ")


def dodges(field_path: str, request: Mapping[str, Any]) -> bool:
    """Whether `request` holds a key that is not on the dotted path but could be meant by it (T-6, scenario 4.5).

    `Quantity`, `quantity[]`, and `order.quantity` in place of an object are such keys for `quantity` and for
    `order.quantity`.
    """
    value: Any = request
    parts = field_path.split(".")
    for depth, part in enumerate(parts):
        if not isinstance(value, Mapping):
            return False
        meant = {_loose_key(".".join(parts[depth:end])) for end in range(depth + 1, len(parts) + 1)}
        if any(key != part and _loose_key(key) in meant for key in value):
            return True
        value = value.get(part)
    return False


def _loose_key(key: str) -> str:
    return loose(key.replace("[", ".").replace("]", "").replace("_", "").replace("-", ""))
