"""The request and response headers of htmx 4, as this desk uses them."""

from __future__ import annotations

import json
from typing import Any

from litestar.connection import ASGIConnection

AnyConnection = ASGIConnection[Any, Any, Any, Any]


def wants_fragment(connection: AnyConnection) -> bool:
    """Whether htmx asks for a part of a page: only then is a fragment returned alone."""
    return connection.headers.get("hx-request-type") == "partial"


def is_htmx(connection: AnyConnection) -> bool:
    return connection.headers.get("hx-request") == "true"


def trigger(event: str, detail: dict[str, Any]) -> dict[str, str]:
    """An `HX-Trigger` header that fires `event` with `detail`. ASCII only: headers carry no more."""
    return {"HX-Trigger": json.dumps({event: detail}, ensure_ascii=True)}


def toast(message: str, kind: str = "done") -> dict[str, str]:
    """A toast that a screen reader hears. `kind`: done, info or problem."""
    return trigger("toast", {"message": message, "kind": kind})
