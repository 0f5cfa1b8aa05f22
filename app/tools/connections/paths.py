"""One spelling for every path: what is frozen, shown, matched and sent (T-9, scenario 4.2).

Servers differ in how they read `%2e%2e`, `\\`, `//`, `;` or another case. So escapes are resolved until none is left,
what stays ambiguous is refused, and matching is done twice: strictly, to allow, and loosely, to find every rule that
a lenient server could mean.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote, urlencode

from app.tools.connections.look_alikes import loose

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
METHODS: tuple[Method, ...] = get_args(Method)

MAX_PATH = 1_024
_MAX_SEGMENTS = 32
_MAX_ROUNDS = 8
_TELLING = "/\\.%?#;"
_REFUSED = {"?": "put parameters into query", "#": "leave it out", ";": "leave it out"}
_LITERAL = re.compile(r"[A-Za-z0-9._~-]+\Z")
_PARAMETER = re.compile(r"\{[A-Za-z][A-Za-z0-9_]*\}\Z")


def normal_method(value: Any) -> Any:
    """`value` in upper case, as methods are told apart."""
    return value.strip().upper() if isinstance(value, str) else value


def normal_path(path: str) -> str:
    """`path` without escapes, `.`, `..`, empty segments and trailing slash. Raises `ValueError` in plain words."""
    if len(path) > MAX_PATH:
        raise ValueError(f"The path is longer than {MAX_PATH} characters.")
    decoded = _decoded(unicodedata.normalize("NFC", path.strip(" ")))
    _check_characters(decoded)
    text = decoded.replace("\\", "/")
    if not text.startswith("/"):
        raise ValueError("The path must begin with / and name no host.")
    segments = _resolved(text)
    if len(segments) > _MAX_SEGMENTS:
        raise ValueError(f"The path has more than {_MAX_SEGMENTS} segments.")
    return "/" + "/".join(segments)


def address(base_url: str, path: str, query: Mapping[str, Any] | None) -> str:
    """The address that is called: a normal `path` below `base_url`, each segment escaped anew."""
    sent = "/".join(quote(segment, safe="") for segment in path.split("/"))
    fields = [(key, _query_text(value)) for key, value in (query or {}).items()]
    return base_url + sent + (f"?{urlencode(fields, quote_via=quote, safe='')}" if fields else "")


@dataclass(frozen=True)
class Template:
    """A path in which `{x}` stands for exactly one segment. Raises `ValueError` for any other form of it."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.startswith("/") or len(self.text) > 200 or not all(map(_is_part, self._parts)):
            raise ValueError("a template begins with / and holds plain segments or {name}, e.g. /parts/{id}")

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        return tuple(_split(self.text))

    def matches(self, path: str) -> bool:
        """Whether it stands for the normal `path`, letter by letter."""
        return self._meets(_split(path), lambda segment: segment)

    def may_match(self, path: str) -> bool:
        """Whether a server that ignores case, trailing dots and spaces could take `path` for it."""
        return self._meets(_split(path), loose)

    def _meets(self, segments: list[str], form: Callable[[str], str]) -> bool:
        return len(segments) == len(self._parts) and all(
            part.startswith("{") or form(part) == form(segment)
            for part, segment in zip(self._parts, segments, strict=True)
        )


def _decoded(text: str) -> str:
    for _ in range(_MAX_ROUNDS):
        try:
            decoded = unicodedata.normalize("NFC", unquote(text, errors="strict"))
        except UnicodeDecodeError:
            raise ValueError("The path holds escapes that are not UTF-8 text.") from None
        if decoded == text:
            if "%" in text:
                raise ValueError("The path holds a % that escapes nothing.")
            return text
        text = decoded
    raise ValueError(f"The path is escaped more than {_MAX_ROUNDS} times.")


def _check_characters(text: str) -> None:
    for character in text:
        if character in _REFUSED:
            raise ValueError(f"The path holds {character}: {_REFUSED[character]}.")
        if unicodedata.category(character)[0] == "C" or (character.isspace() and character != " "):
            raise ValueError("The path holds a control, invisible or unknown character.")
    if _telling(unicodedata.normalize("NFKC", text)) != _telling(text):
        raise ValueError("The path holds a look-alike of a slash, a dot or another sign that has a meaning there.")


def _telling(text: str) -> list[str]:
    return [character for character in text if character in _TELLING]


def _resolved(text: str) -> list[str]:
    segments: list[str] = []
    for segment in text.split("/"):
        if segment == "..":
            if not segments:
                raise ValueError("The path leads above its beginning.")
            segments.pop()
        elif segment != segment.strip(" "):
            raise ValueError("A segment of the path begins or ends with a space.")
        elif segment not in ("", "."):
            segments.append(segment)
    return segments


def _split(path: str) -> list[str]:
    return path[1:].split("/") if path != "/" else []


def _is_part(part: str) -> bool:
    if part.startswith("{"):
        return _PARAMETER.match(part) is not None
    return part not in (".", "..") and _LITERAL.match(part) is not None


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
