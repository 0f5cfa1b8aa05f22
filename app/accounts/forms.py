"""Forms as browsers send them, read into the same strict models as JSON, and shown again when refused (HTTP-5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from litestar import Request
from pydantic import BaseModel

from app.core.errors import AppError, ErrorDetail, UnsupportedMediaType, ValidationFailed
from app.web.validation import parse

M = TypeVar("M", bound=BaseModel)

_URLENCODED = "application/x-www-form-urlencoded"
_MOST_FIELDS = 50
_SECRET = ("password", "token")
_TRUE = ("true", "on", "1")


@dataclass(frozen=True, slots=True)
class Form:
    """What a template shows: what was typed (never a secret), a message per field, and one for the whole."""

    values: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    error: str | None = None


async def read_form(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The fields of an urlencoded body; of a repeated one the last. Raises `ValidationFailed`."""
    if not request.headers.get("content-type", _URLENCODED).startswith(_URLENCODED):
        raise UnsupportedMediaType("Send the form as the page does.")
    try:
        text = (await request.body()).decode()
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise ValidationFailed("The form could not be read. Reload the page and send it again.") from None


def parse_form(model: type[M], values: dict[str, str]) -> M:
    """The fields of `model` among `values` (named as in Python; a box not ticked is false).

    Raises `ValidationFailed`, whose details name the fields as the form does.
    """
    names = {info.alias or name: name for name, info in model.model_fields.items()}
    booleans = {name for name, info in model.model_fields.items() if info.annotation is bool}
    given: dict[str, Any] = {alias: values[name] for alias, name in names.items() if name in values}
    given |= {alias: values.get(name) in _TRUE for alias, name in names.items() if name in booleans}
    try:
        return parse(model, given)
    except ValidationFailed as error:
        raise ValidationFailed(details=[_named(detail, names, values) for detail in error.details]) from None


def refused(values: dict[str, str], error: AppError) -> Form:
    """The form again, with what `error` says at its fields, or above them."""
    shown = {name: value for name, value in values.items() if not any(word in name for word in _SECRET)}
    errors = {detail.field: detail.message for detail in error.details if detail.field in values}
    return Form(shown, errors, None if errors else error.message)


def refused_status(error: AppError) -> int:
    """422 for what was typed wrong, else the error's own status."""
    return 422 if isinstance(error, ValidationFailed) else error.status


def _named(detail: ErrorDetail, names: dict[str, str], values: dict[str, str]) -> ErrorDetail:
    name = names.get(detail.field, detail.field)
    empty = name in values and not values[name].strip()
    return ErrorDetail(name, "Fill this in." if empty else detail.message)
