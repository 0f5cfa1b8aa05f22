"""Every failure as the caller can read it: JSON envelope, whole page, or fragment (HTTP-2).

What is not an `AppError` becomes one here; nothing of an unexpected failure but its request id reaches a person,
unless `DEBUG_ERRORS`.
"""

from __future__ import annotations

import traceback
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, ValidationException
from pymongo.errors import AutoReconnect, ConnectionFailure, WaitQueueTimeoutError
from redis.exceptions import RedisError

from app.core.errors import (
    AppError,
    ErrorDetail,
    NotFound,
    PayloadTooLarge,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from app.core.logging import get_logger
from app.web.envelope import failure
from app.web.hx import is_htmx, wants_fragment
from app.web.validation import details_of

log = get_logger(__name__)

AnyRequest = Request[Any, Any, Any]


class ErrorAnswers:
    """Turns exceptions into answers; given to Litestar as the handler of `Exception`."""

    def __init__(self, environment: Environment, *, debug: bool, sign_in_path: str) -> None:
        self._environment = environment
        self._debug = debug
        self._sign_in_path = sign_in_path

    def __call__(self, request: AnyRequest, exc: Exception) -> Response[Any]:
        error = as_app_error(exc)
        request_id = str(request.scope["state"].get("request_id", ""))
        if error.status >= 500:
            _log(error, exc)
        trace = "".join(traceback.format_exception(exc)) if self._debug and error.status == 500 else None
        if request.scope["path"].startswith("/api/"):
            body = failure(error, request_id) | ({"trace": trace} if trace else {})
            return Response(body, status_code=error.status, headers=error.headers, media_type=MediaType.JSON)
        if isinstance(error, Unauthorized) and error.code == "UNAUTHORIZED":
            return self._to_sign_in(request)
        return self._html(request, error, request_id, trace)

    def _to_sign_in(self, request: AnyRequest) -> Response[Any]:
        """Signed-out people go to the sign-in page, and afterwards back to where they were."""
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        target = (
            f"{self._sign_in_path}?next={quote(wanted, safe='')}" if request.method == "GET" else self._sign_in_path
        )
        if is_htmx(request):
            return Response("", status_code=401, headers={"HX-Redirect": self._sign_in_path}, media_type=MediaType.HTML)
        return Response("", status_code=303, headers={"Location": target}, media_type=MediaType.HTML)

    def _html(self, request: AnyRequest, error: AppError, request_id: str, trace: str | None) -> Response[Any]:
        name = "errors/_error.html" if wants_fragment(request) else "errors/error.html"
        html = self._environment.get_template(name).render(
            error=error,
            request_id=request_id,
            trace=trace,
            person=request.scope.get("user"),
            csrf_token=request.scope["state"].get("csrf_token", ""),
        )
        headers = {"Cache-Control": "no-store", "Vary": "HX-Request-Type"} | error.headers
        return Response(html, status_code=error.status, headers=headers, media_type=MediaType.HTML)


def _log(error: AppError, exc: Exception) -> None:
    """A refusal that the desk itself made, as while AI is off, is no fault: one line says enough."""
    if exc is error and error.status != 500:
        log.warning("request_refused", code=error.code, status=error.status)
    else:
        log.error("request_failed", code=error.code, error=type(exc).__name__, exc_info=exc)


def as_app_error(exc: Exception) -> AppError:
    """The `AppError` that `exc` is, or means."""
    if isinstance(exc, AppError):
        return exc
    if isinstance(exc, ValidationException):
        return ValidationFailed(details=details_of(exc))
    if isinstance(exc, HTTPException):
        return _from_http(exc)
    if isinstance(exc, (AutoReconnect, ConnectionFailure, WaitQueueTimeoutError, RedisError)):
        return Unavailable("The database does not answer right now. Try again in a moment; nothing was lost.")
    return AppError()


def _from_http(exc: HTTPException) -> AppError:
    known: dict[int, type[AppError]] = {404: NotFound, 405: NotFound, 413: PayloadTooLarge, 415: UnsupportedMediaType}
    if exc.status_code in known:
        return known[exc.status_code]()
    if exc.status_code == 400:
        return ValidationFailed("The request could not be read.", details=[ErrorDetail("_", str(exc.detail))])
    return AppError()
