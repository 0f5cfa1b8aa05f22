"""The questions that a custom tool may ask the desk, each checked before anybody acts on it (T-11)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic import ValidationError

from app.core.errors import AppError
from app.tools.arguments import Arguments, ListArguments, NoArguments, OrderId
from app.tools.connections.request_arguments import RequestArguments

Answer = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Acts as the caller's Actor: `(name, parameters)` → JSON. May raise `AppError`, whose message the tool gets."""


class OrderArguments(Arguments):
    id: OrderId


QUESTIONS: Final[dict[str, type[Arguments]]] = {
    "list_orders": ListArguments,
    "get_order": OrderArguments,
    "whoami": NoArguments,
    "request": RequestArguments,
}


async def reply(answer: Answer, name: object, params: object, message_bytes: int) -> bytes:
    """One line for the tool: `{ok: …}` or `{error: sentence}`, at most `message_bytes` long."""
    try:
        line = _line({"ok": await answer(*_question(name, params))})
    except AppError as error:
        line = _line({"error": error.message})
    except _NotAsked as error:
        line = _line({"error": str(error)})
    if len(line) > message_bytes:
        line = _line({"error": f"The answer is larger than {message_bytes // 1024} kB. Ask for less."})
    return line


class _NotAsked(Exception):
    """No question of the client's."""


def _question(name: object, params: object) -> tuple[str, dict[str, Any]]:
    arguments = QUESTIONS.get(name) if isinstance(name, str) else None
    if arguments is None or not isinstance(name, str):
        raise _NotAsked(f"The desk answers only {', '.join(QUESTIONS)}.")
    try:
        return name, arguments.model_validate(params).frozen_args()
    except ValidationError as error:
        fields = sorted({".".join(map(str, fault["loc"])) or "parameters" for fault in error.errors()})
        raise _NotAsked(f"{name}: not valid: {', '.join(fields)[:200]}.") from None


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
