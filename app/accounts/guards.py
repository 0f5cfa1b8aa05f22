"""Who may enter a handler. Guards read the person that the middleware loaded (AUTH-5).

They await nothing, but are coroutines: Litestar runs any other guard in a thread.
"""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from app.accounts.people import Person
from app.core.errors import Forbidden, Unauthorized

AnyConnection = ASGIConnection[Any, Any, Any, Any]


def person_of(connection: AnyConnection) -> Person:
    """The signed-in person. Raises `Unauthorized`."""
    person = connection.scope.get("user")
    if not isinstance(person, Person):
        raise Unauthorized
    return person


async def signed_in(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    person_of(connection)


async def admin_only(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    if person_of(connection).role != "admin":
        raise Forbidden("Only a dispatcher may do this.")


async def admin_or_viewer(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    if person_of(connection).role not in ("admin", "viewer"):
        raise Forbidden("Only a dispatcher or a viewer may see this.")


async def may_write(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    if person_of(connection).role == "viewer":
        raise Forbidden("You can read here, but not change anything. Ask a dispatcher for a technician's account.")
