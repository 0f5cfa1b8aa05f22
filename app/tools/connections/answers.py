"""An answer as the model and the record get it: small, plain, and without the secret (T-10)."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from app.core.strict_json import StrictJsonError, parse_strict
from app.tools.connections.access import without_secret
from app.tools.connections.connection import Connection
from app.tools.connections.port import Answer, SendFailed
from app.tools.tool import ToolFault
from app.tools.trimming import MAX_CHARS

OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
"""The code of a failure after which nobody knows whether the request took effect (D-5)."""

_MAX_DEPTH = 32
_MAX_PIECE = 300


def result_of(connection: Connection, answer: Answer, secret: tuple[str, str] | None) -> dict[str, Any]:
    """`{status, body, cut?}`, at most `MAX_CHARS` as JSON. Raises `ToolFault` for what is no usable 2xx answer."""
    said = f"{connection.name} answered {answer.status}"
    if not answer.is_whole:
        limit = connection.limits.max_response_bytes
        raise ToolFault(f"{said}, but with more than {limit} bytes, which were not read. The request has arrived.")
    if 300 <= answer.status < 400:
        raise ToolFault(f"{said}, a redirect, which is never followed.")
    text = without_secret(answer.body.decode(errors="replace"), secret)
    if not 200 <= answer.status < 300:
        raise ToolFault(f"{said}: {_piece(text)}" if text.strip() else f"{said}.")
    return _fitted({"status": answer.status, "body": _body(said, answer, text)})


def failure_of(connection: Connection, failed: SendFailed) -> ToolFault:
    """A failed exchange in plain words, which never claim more than is known (D-5)."""
    if failed.maybe_sent:
        known = "The request may or may not have arrived; it is not sent again."
        return ToolFault(f"{connection.name}: {failed.reason}. {known}", OUTCOME_UNKNOWN)
    return ToolFault(f"{connection.name}: {failed.reason}. Nothing was sent.")


def text_of(result: dict[str, Any]) -> str:
    """A result as JSON text."""
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def _body(said: str, answer: Answer, text: str) -> Any:
    kind = answer.content_type.partition(";")[0].strip().lower()
    if not answer.body:
        return None
    if kind == "application/json" or kind.endswith("+json"):
        with suppress(StrictJsonError):
            return parse_strict(text, max_bytes=2 * len(answer.body) + 64, max_depth=_MAX_DEPTH)
        raise ToolFault(f"{said}, but its body is not the JSON it claims to be. The request has arrived.")
    if kind.startswith("text/"):
        return text.replace("\x00", "�")
    raise ToolFault(f"{said}, but with neither JSON nor text. The request has arrived.")


def _fitted(result: dict[str, Any]) -> dict[str, Any]:
    if len(text_of(result)) <= MAX_CHARS:
        return result
    whole = result["body"] if isinstance(result["body"], str) else text_of(result["body"])
    cut = f"The body has {len(whole)} characters; this is its beginning."
    length = MAX_CHARS
    while len(text_of(shown := {**result, "body": whole[:length] + "…", "cut": cut})) > MAX_CHARS:
        length -= max(1, length // 16)  # escapes count too, so the length is found by trying
    return shown


def _piece(text: str) -> str:
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= _MAX_PIECE else plain[: _MAX_PIECE - 1] + "…"
