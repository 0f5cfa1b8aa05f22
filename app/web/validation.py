"""Pydantic's faults as `details: [{field, message}]` in plain words (HTTP-2).

An unknown field, or a body that is not an object, is reported at `_`, as the original desk did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from litestar.exceptions import ValidationException
from pydantic import BaseModel, ValidationError

from app.core.errors import ErrorDetail, ValidationFailed

M = TypeVar("M", bound=BaseModel)

_WORDS = {
    "missing": "Is required.",
    "extra_forbidden": "Is not a field of this request: {name}.",
    "string_too_short": "Must be at least {min_length} characters.",
    "string_too_long": "Must be at most {max_length} characters.",
    "too_short": "Must be at least {min_length} {unit}.",
    "too_long": "Must be at most {max_length} {unit}.",
    "string_type": "Must be text.",
    "bool_type": "Must be true or false.",
    "int_type": "Must be a whole number.",
    "int_parsing": "Must be a whole number.",
    "greater_than_equal": "Must be at least {ge}.",
    "less_than_equal": "Must be at most {le}.",
    "literal_error": "Must be {expected}.",
    "enum": "Must be {expected}.",
    "model_type": "Must be a JSON object.",
    "model_attributes_type": "Must be a JSON object.",
    "dict_type": "Must be a JSON object.",
    "list_type": "Must be a list.",
}

_QUERY_WORDS = [
    (re.compile(r"Expected `int[^`]*` >= (\S+)"), "Must be at least {}."),
    (re.compile(r"Expected `int[^`]*` <= (\S+)"), "Must be at most {}."),
    (re.compile(r"Expected `str[^`]*` of length >= (\S+)"), "Must be at least {} characters."),
    (re.compile(r"Expected `str[^`]*` of length <= (\S+)"), "Must be at most {} characters."),
    (re.compile(r"Expected `int[^`]*`, got"), "Must be a whole number."),
    (re.compile(r"Invalid enum value"), "Is not one of the allowed values."),
]
"""What msgspec says of a query or header parameter, and what we say."""


def parse(model: type[M], values: Any) -> M:
    """`values` as `model`. Raises `ValidationFailed` with one detail per fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ValidationFailed(details=details(error.errors(include_url=False, include_input=False))) from None


def details_of(exc: ValidationException) -> list[ErrorDetail]:
    """The details of Litestar's own exception, taken from Pydantic's errors underneath where there are any."""
    errors = getattr(exc.__cause__, "errors", None)
    if isinstance(errors, list):
        return details(errors)  # their paths start inside the body
    return [_parameter(fault) for fault in exc.extra] if isinstance(exc.extra, list) else []


def _parameter(fault: Any) -> ErrorDetail:
    name, message = str(fault.get("key", "_")), str(fault.get("message", ""))
    if fault.get("source") == "body":
        return ErrorDetail("_", "Send a JSON object as the body.")
    found = ((pattern.match(message), words) for pattern, words in _QUERY_WORDS)
    plain = next((words.format(*match.groups()) for match, words in found if match), "Is not valid.")
    return ErrorDetail(name, plain)


def details(faults: Iterable[Any]) -> list[ErrorDetail]:
    """One `ErrorDetail` per Pydantic fault."""
    return [_detail(fault) for fault in faults]


def _detail(fault: Any) -> ErrorDetail:
    path = [str(part) for part in fault["loc"]]
    name = path[-1] if path else "_"
    if fault["type"] == "extra_forbidden":
        path = path[:-1]
    words, given = _WORDS.get(fault["type"]), fault.get("ctx", {})
    # Text that went through a validator of ours is just a "Value" to Pydantic.
    unit = "characters" if given.get("field_type") == "Value" else "items"
    message = words.format(name=name, unit=unit, **given) if words else fault["msg"].removeprefix("Value error, ")
    return ErrorDetail(".".join(path) or "_", message)
