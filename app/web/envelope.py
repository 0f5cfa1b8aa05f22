"""The JSON envelope of `/api/v1` (HTTP-2)."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from app.core.errors import AppError
from app.core.schemas import Wire

T = TypeVar("T")


class Success(Wire, Generic[T]):
    """`{success: true, data}`."""

    success: Literal[True] = True
    data: T


def failure(error: AppError, request_id: str) -> dict[str, Any]:
    """`{success: false, error: {code, message, details?}, requestId}`."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        body["details"] = [{"field": detail.field, "message": detail.message} for detail in error.details]
    return {"success": False, "error": body, "requestId": request_id}
