"""Strict JSON (D-9, HTTP-2)."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.strict_json import INT64_MAX, INT64_MIN, StrictJsonError, parse_object, parse_strict


class Limits(TypedDict):
    max_bytes: int
    max_depth: int


LIMITS = Limits(max_bytes=65_536, max_depth=32)

REFUSED = {
    "NaN": '{"a": NaN}',
    "Infinity": "[Infinity]",
    "minus Infinity": "[-Infinity]",
    "overflowing number": '{"a": 1e400}',
    "overflowing negative number": '{"a": -1e400}',
    "integer of 64 unsigned bits": '{"a": 9223372036854775808}',
    "integer below 64 bits": '{"a": -9223372036854775809}',
    "integer of 5000 digits": "9" * 5000,
    "duplicate key": '{"a": 1, "a": 1}',
    "nested duplicate key": '{"x": [{"a": 1, "a": 2}]}',
    "key doubled by an escape": '{"a": 1, "\\u0061": 2}',
    "trailing text": '{"a": 1} thanks',
    "second value": "{}{}",
    "truncated": '{"a": "b',
    "single quotes": "{'a': 1}",
    "trailing comma": '{"a": 1,}',
    "comment": '{"a": 1} // x',
    "empty": "",
    "blank": "  ",
    "byte order mark": "\ufeff{}",
    "lone high surrogate": '{"a": "\\ud800"}',
    "lone low surrogate": '{"a": "x\\udc00y"}',
    "swapped surrogates": '{"a": "\\udc00\\ud800"}',
    "lone surrogate in a key": '{"\\ud800": 1}',
    "raw surrogate": '{"a": "\ud800"}',
    "NUL": '{"a": "x\\u0000"}',
    "NUL in a key": '{"a\\u0000": 1}',
    "raw NUL": '{"a": "\x00"}',
    "raw newline": '{"a": "\n"}',
    "too deep": "[" * 33 + "]" * 33,
    "far too deep": "[" * 30_000 + "]" * 30_000,
    "unclosed depth": "[" * 30_000,
    "too long": json.dumps("x" * 65_536),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_strict_json_is_refused_with_one_plain_sentence(text: str) -> None:
    """D-9, HTTP-2."""
    with pytest.raises(StrictJsonError) as caught:
        parse_strict(text, **LIMITS)
    assert caught.value.reason.endswith(".")
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize("raw", [b"\xff{}", b'{"a": "\xed\xa0\x80"}', '{"a":1}'.encode("utf-16")])
def test_bytes_that_are_not_utf8_are_refused(raw: bytes) -> None:
    """D-9: bytes are UTF-8, whatever they look like."""
    with pytest.raises(StrictJsonError):
        parse_strict(raw, **LIMITS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[" * 32 + "]" * 32, None),
        (f'{{"a": {INT64_MAX}, "b": {INT64_MIN}}}', {"a": INT64_MAX, "b": INT64_MIN}),
        ('{"a": "\\ud83d\\ude05"}', {"a": "😅"}),
        ('{"a": 1e30}', {"a": 1e30}),
        (' {"a": [true, null, -0.5]} \n', {"a": [True, None, -0.5]}),
    ],
)
def test_what_is_strict_json_is_taken_as_it_is(text: str, value: Any) -> None:
    """D-9."""
    parsed = parse_strict(text, **LIMITS)
    assert value is None or parsed == value
    assert parse_strict(text.encode(), **LIMITS) == parsed


def test_a_nul_is_taken_in_a_value_but_never_in_a_key_when_asked_for() -> None:
    """HTTP-2: BSON stores a NUL in a value and refuses one in a key."""
    assert parse_strict('{"a": "\\u0000"}', **LIMITS, allow_nul=True) == {"a": "\x00"}
    with pytest.raises(StrictJsonError):
        parse_strict('{"\\u0000": 1}', **LIMITS, allow_nul=True)


@pytest.mark.parametrize("text", ["[]", '"a"', "1", "null", "true"])
def test_an_object_is_asked_for_and_nothing_else_will_do(text: str) -> None:
    """D-9: arguments are one object."""
    with pytest.raises(StrictJsonError, match="object"):
        parse_object(text, **LIMITS)


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(INT64_MIN, INT64_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_every_storable_value_survives_the_round_trip(value: Any) -> None:
    """D-9."""
    assert parse_strict(json.dumps(value), **LIMITS) == value
    assert parse_strict(json.dumps(value, ensure_ascii=False).encode(), **LIMITS) == value


@given(st.text(max_size=60) | st.from_regex(r'[\[\]{}",:0-9eE.\\u-]{0,40}', fullmatch=True))
def test_any_text_is_either_parsed_or_refused_and_never_fails_otherwise(text: str) -> None:
    """D-9."""
    try:
        parsed = parse_strict(text, **LIMITS)
    except StrictJsonError:
        return
    assert json.loads(text) == parsed
