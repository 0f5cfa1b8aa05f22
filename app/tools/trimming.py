"""Tool results as the model gets them: at most 10 orders, at most 4,000 characters (003 §4.7).

Whole orders stay whole JSON: descriptions are shortened first, then orders are left out from the end.
"""

from __future__ import annotations

import json
from typing import Any

MAX_ORDERS = 10
MAX_CHARS = 4_000
_DESCRIPTION_LENGTHS = (2_000, 400, 160, 60)


def orders_text(orders: list[dict[str, Any]]) -> str:
    """A JSON array of `orders` (wire form) within the limits."""
    kept = orders[:MAX_ORDERS]
    for length in _DESCRIPTION_LENGTHS:
        text = _dump([_shortened(order, length) for order in kept])
        if len(text) <= MAX_CHARS:
            return text
    while len(kept) > 1 and len(text) > MAX_CHARS:
        kept = kept[:-1]
        text = _dump([_shortened(order, _DESCRIPTION_LENGTHS[-1]) for order in kept])
    return text


def _shortened(order: dict[str, Any], length: int) -> dict[str, Any]:
    description = order.get("description")
    if not description or len(description) <= length:
        return order
    return order | {"description": description[: length - 1] + "…"}


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cut_text(text: str) -> str:
    """`text` within the limit; what was cut is said."""
    if len(text) <= MAX_CHARS:
        return text
    told = f"… (cut: {len(text)} characters in all)"
    return text[: MAX_CHARS - len(told)] + told
