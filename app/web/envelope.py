"""The JSON envelope of `/api/v1` (HTTP-2)."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from litestar import Response
from litestar.types import Receive, Scope, Send
from msgspec import Raw
from pydantic import BaseModel

from app.core.errors import AppError
from app.core.schemas import Sparse, Wire

T = TypeVar("T")


class Success(Wire, Generic[T]):
    """`{success: true, data}`."""

    success: Literal[True] = True
    data: T


class FaultDetail(Wire):
    """One fault of the input, or one thing to know more."""

    field: str
    message: str


class Fault(Sparse):
    """What went wrong: a stable code, and words for a person."""

    code: str
    message: str
    details: list[FaultDetail] | None = None


class Failure(Wire):
    """`{success: false, error, requestId}`."""

    success: Literal[False] = False
    error: Fault
    request_id: str


def as_json(model: BaseModel) -> Raw:
    """`model` as it goes on the wire, written by Pydantic in one go instead of being taken apart first."""
    return Raw(model.model_dump_json(by_alias=True).encode())


class WrittenJson(Response[Any]):
    """200 with a JSON body, written already, envelope and all; the handler's annotation says of what shape.

    It is sent as it is: what a response can do besides takes longer than all of this.
    """

    content: bytes

    def to_asgi_response(self, *_args: Any, **_settings: Any) -> Any:
        return self._send

    async def _send(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(self.content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.content, "more_body": False})


def answers(*errors: type[AppError]) -> dict[str, Any]:
    """For a handler's `opt`: what it answers beside what its guards, parameters and body make plain (HTTP-2)."""
    return {"answers": errors}


def failure(error: AppError, request_id: str) -> dict[str, Any]:
    """`{success: false, error: {code, message, details?}, requestId}`."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        body["details"] = [{"field": detail.field, "message": detail.message} for detail in error.details]
    return {"success": False, "error": body, "requestId": request_id}
