"""The error tree: every failure a person or a client can meet is an `AppError` with a code and a status.

    AppError
    ├── ValidationFailed        400 VALIDATION_ERROR
    ├── Unauthorized            401 UNAUTHORIZED
    ├── Forbidden               403 FORBIDDEN
    ├── NotFound                404 NOT_FOUND
    ├── Conflict                409 CONFLICT_VERSION (features subclass it)
    ├── PayloadTooLarge         413 PAYLOAD_TOO_LARGE
    ├── UnsupportedMediaType    415 UNSUPPORTED_MEDIA_TYPE
    ├── RateLimited             429 RATE_LIMITED (with Retry-After)
    └── Unavailable             503 UNAVAILABLE

Features add their own in `<feature>/errors.py`. Codes and statuses: contract HTTP-2 and 003 §8.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One fault of the input: the field's path as the client wrote it, and what to do about it."""

    field: str
    message: str


class AppError(Exception):
    """A failure with a stable `code`, an HTTP `status` and a `message` that says what to do."""

    code: ClassVar[str] = "INTERNAL"
    status: ClassVar[int] = 500
    default_message: ClassVar[str] = "Something went wrong on our side. Try again in a moment."

    def __init__(
        self,
        message: str | None = None,
        *,
        details: list[ErrorDetail] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.message = message or self.default_message
        self.details = details or []
        self.headers = headers or {}
        super().__init__(self.message)


class ValidationFailed(AppError):
    code = "VALIDATION_ERROR"
    status = 400
    default_message = "Some of the values are not valid. Correct them and try again."


class Unauthorized(AppError):
    code = "UNAUTHORIZED"
    status = 401
    default_message = "Sign in to go on."


class Forbidden(AppError):
    code = "FORBIDDEN"
    status = 403
    default_message = "Your role does not allow this."


class NotFound(AppError):
    code = "NOT_FOUND"
    status = 404
    default_message = "There is nothing here. It may have been deleted, or it is not yours to see."


class Conflict(AppError):
    code = "CONFLICT_VERSION"
    status = 409
    default_message = "This was changed meanwhile. Reload it and try again."


class PayloadTooLarge(AppError):
    code = "PAYLOAD_TOO_LARGE"
    status = 413
    default_message = "The request is too large."


class UnsupportedMediaType(AppError):
    code = "UNSUPPORTED_MEDIA_TYPE"
    status = 415
    default_message = "Send the body as application/json."


class RateLimited(AppError):
    code = "RATE_LIMITED"
    status = 429
    default_message = "Too many requests. Wait a moment and try again."

    def __init__(self, retry_after_s: int, message: str | None = None) -> None:
        super().__init__(message, headers={"Retry-After": str(max(1, retry_after_s))})


class Unavailable(AppError):
    code = "UNAVAILABLE"
    status = 503
    default_message = "This is not available right now. Try again in a moment."
