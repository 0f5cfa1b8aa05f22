"""Which failures an endpoint of the JSON API can answer: from its guards, its method, its address, and its own word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from litestar.handlers import HTTPRouteHandler

from app.accounts.guards import admin_only, admin_or_viewer, may_write, signed_in
from app.copilot.doors import ai_enabled
from app.core.errors import (
    AppError,
    Forbidden,
    NotFound,
    PayloadTooLarge,
    RateLimited,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from app.governance.errors import AiUnavailable

Errors = tuple[type[AppError], ...]

_GUARDED: dict[Callable[..., Any], Errors] = {
    signed_in: (Unauthorized,),
    may_write: (Unauthorized, Forbidden),
    admin_only: (Unauthorized, Forbidden),
    admin_or_viewer: (Unauthorized, Forbidden),
    ai_enabled: (Unauthorized, AiUnavailable),
}
_ALWAYS: Errors = (ValidationFailed, RateLimited, AppError, Unavailable)
_WRITES: Errors = (Forbidden, PayloadTooLarge, UnsupportedMediaType)
_DETAILS = {
    "VALIDATION_ERROR": [{"field": "title", "message": "Must be at least 3 characters."}],
    "AI_MESSAGE_DUPLICATE": [{"field": "runId", "message": "674ad1f0c0ffee0000000b01"}],
}


def guard_errors(handler: HTTPRouteHandler) -> Errors:
    """What its guards raise; of a guard that is not known here, both refusals."""
    found = (_GUARDED.get(guard, (Unauthorized, Forbidden)) for guard in handler.resolve_guards())
    return tuple(error for errors in found for error in errors)


def errors_of(handler: HTTPRouteHandler, method: str, path: str) -> dict[int, dict[str, type[AppError]]]:
    """Status → code → error, in order."""
    errors = [*_ALWAYS, *guard_errors(handler), *((NotFound,) if "{" in path else ())]
    errors += [*(_WRITES if method != "get" else ()), *handler.opt.get("answers", ())]
    found: dict[int, dict[str, type[AppError]]] = {}
    for error in sorted(errors, key=lambda error: error.status):
        found.setdefault(error.status, {})[error.code] = error
    return found


def response_name(status: int, codes: Iterable[str]) -> str:
    return "-".join([str(status), *codes])


def response(codes: dict[str, type[AppError]]) -> dict[str, Any]:
    """The answer of one status: the envelope, its codes, an example of each."""
    schema = {
        "$ref": "#/components/schemas/Failure",
        "properties": {"error": {"properties": {"code": {"enum": list(codes)}}}},
    }
    examples = {code: {"summary": error.default_message, "value": _example(error)} for code, error in codes.items()}
    described: dict[str, Any] = {
        "description": " ".join(f"`{code}`: {error.default_message}" for code, error in codes.items()),
        "content": {"application/json": {"schema": schema, "examples": examples}},
    }
    if "RATE_LIMITED" in codes:
        waiting = {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
        described["headers"] = {"Retry-After": waiting}
    return described


def _example(error: type[AppError]) -> dict[str, Any]:
    body: dict[str, Any] = {"code": error.code, "message": error.default_message}
    if error.code in _DETAILS:
        body["details"] = _DETAILS[error.code]
    return {"success": False, "error": body, "requestId": "b7d1c1f6-6e0c-4a53-9a44-0d5b1f4f0c11"}
