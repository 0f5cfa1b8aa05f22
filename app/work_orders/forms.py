"""The forms of work orders: browsers' text into the strict models that JSON uses (HTTP-5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.accounts.forms import Form
from app.core.errors import ValidationFailed
from app.web.validation import parse
from app.work_orders.schemas import FIELDS, WorkOrderCreate, WorkOrderPublic, WorkOrderUpdate

EMPTY = Form({"priority": "medium", "status": "pending"})


def creation(values: Mapping[str, str]) -> WorkOrderCreate:
    """Raises `ValidationFailed`, as the others do."""
    return parse(WorkOrderCreate, _given(values))


def change(values: Mapping[str, str]) -> WorkOrderUpdate:
    return parse(WorkOrderUpdate, {**_given(values), "version": version(values)})


def version(values: Mapping[str, str]) -> int:
    """The version that the person saw."""
    text = values.get("version", "")
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text) > 0):
        raise ValidationFailed("This form is out of date. Reload the page and try again.")
    return int(text)


def filled(order: WorkOrderPublic) -> Form:
    """The form as it stands over an order."""
    return Form({name: getattr(order, name) or "" for name in FIELDS})


def _given(values: Mapping[str, str]) -> dict[str, Any]:
    """Browsers end lines with CR LF, which nobody typed; an empty description is none."""
    given: dict[str, Any] = {name: values[name].replace("\r\n", "\n") for name in FIELDS if name in values}
    if not given.get("description", "x").strip():
        given["description"] = None
    return given
