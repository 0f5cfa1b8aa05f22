"""JSON as the standard means it: one value, no duplicate keys, nothing that MongoDB cannot store (D-9, HTTP-2).

`json.loads` alone takes NaN, Infinity, 1e400, duplicate keys and halves of surrogate pairs, and fails with odd errors
on deep nesting and on integers of thousands of digits. Used for call arguments and for request bodies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from itertools import chain
from typing import Any, NoReturn

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_LONGEST_INT64 = 20


class StrictJsonError(ValueError):
    """Not strict JSON. `reason` is one plain sentence that quotes nothing of the input."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def parse_strict(text: str | bytes, *, max_bytes: int, max_depth: int, allow_nul: bool = False) -> Any:
    """The one JSON value in `text`: at most `max_bytes` of UTF-8 and `max_depth` nested containers.

    Integers fit 64 bits signed, numbers are finite, keys are unique, strings hold no half of a surrogate pair and
    (unless `allow_nul`, which concerns values only) no NUL. Raises `StrictJsonError`.
    """
    source = _as_text(text, max_bytes)
    value = _decode(source)
    # Only an escape can put a NUL or a surrogate into a string: the text itself is valid UTF-8 by now.
    _check_containers(value, max_depth, check_text="\\u" in source, allow_nul=allow_nul)
    return value


def parse_object(text: str | bytes, *, max_bytes: int, max_depth: int, allow_nul: bool = False) -> dict[str, Any]:
    """As `parse_strict`, and the value must be an object."""
    value = parse_strict(text, max_bytes=max_bytes, max_depth=max_depth, allow_nul=allow_nul)
    if not isinstance(value, dict):
        raise StrictJsonError("Must be a JSON object.")
    return value


def _as_text(text: str | bytes, max_bytes: int) -> str:
    try:
        raw = text if isinstance(text, bytes) else text.encode()
        if len(raw) > max_bytes:
            raise StrictJsonError(f"Is longer than {max_bytes} bytes.")
        return raw.decode() if isinstance(text, bytes) else text
    except UnicodeError:
        raise StrictJsonError("Is not valid UTF-8 text.") from None


def _decode(source: str) -> Any:
    try:
        return _DECODER.decode(source)
    except json.JSONDecodeError as error:
        tail = error.msg == "Extra data"
        reason = "Has text after the JSON value." if tail else f"Is not valid JSON (at character {error.pos + 1})."
        raise StrictJsonError(reason) from None
    except RecursionError:
        raise StrictJsonError("Is nested too deeply.") from None


def _check_containers(value: Any, max_depth: int, *, check_text: bool, allow_nul: bool) -> None:
    level = [value]
    for depth in range(max_depth + 2):
        if check_text:
            _check_strings(level, allow_nul=allow_nul)
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return
        if depth == max_depth:
            raise StrictJsonError(f"Is nested more than {max_depth} levels deep.")
        if check_text:
            _check_strings(chain.from_iterable(item for item in level if isinstance(item, dict)), allow_nul=False)
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]


def _check_strings(items: Iterable[Any], *, allow_nul: bool) -> None:
    for item in items:
        if not isinstance(item, str):
            continue
        if not allow_nul and "\x00" in item:
            raise StrictJsonError("Holds a NUL character.")
        if not item.isascii() and any("\ud800" <= char <= "\udfff" for char in item):
            raise StrictJsonError("Holds half of a surrogate pair.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise StrictJsonError("Holds the same key twice in one object.")
    return result


def _int(digits: str) -> int:
    number = int(digits) if len(digits) <= _LONGEST_INT64 else INT64_MAX + 1
    if not INT64_MIN <= number <= INT64_MAX:
        raise StrictJsonError("Holds an integer beyond 64 bits.")
    return number


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise StrictJsonError("Holds a number that is too large.")
    return number


def _constant(_name: str) -> NoReturn:
    raise StrictJsonError("Holds NaN or Infinity, which JSON does not know.")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_int, parse_float=_float, parse_constant=_constant)
