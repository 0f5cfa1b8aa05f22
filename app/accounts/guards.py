"""Who may enter a handler. Guards read the person that the middleware loaded (AUTH-5).

They await nothing, but are coroutines: Litestar runs any other guard in a thread.
"""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from app.accounts.askers import Asker
from app.accounts.people import Person
from app.core.errors import Forbidden, Unauthorized

AnyConnection = ASGIConnection[Any, Any, Any, Any]


def person_of(connection: AnyConnection) -> Person:
    """The signed-in person. Raises `Unauthorized`."""
    person = connection.scope.get("user")
    if not isinstance(person, Person):
        raise Unauthorized
    return person


def asker_of(connection: AnyConnection) -> Asker:
    """Who asks, in a handler with the opt `READS_PERSON`. Raises `Unauthorized`."""
    asker = connection.scope.get("user")
    if isinstance(asker, Asker):
        return asker
    person = person_of(connection)
    return Asker(person.id, person.sid, person)


async def signed_in(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    if not _read_later(connection):
        person_of(connection)


async def admin_only(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    if person_of(connection).role != "admin":
        raise Forbidden("Only a dispatcher may do this.")


async def admin_or_viewer(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    if not _read_later(connection) and person_of(connection).role not in ("admin", "viewer"):
        raise Forbidden("Only a dispatcher or a viewer may see this.")


async def may_write(connection: AnyConnection, _handler: BaseRouteHandler) -> None:
    if person_of(connection).role == "viewer":
        raise Forbidden("You can read here, but not change anything. Ask a dispatcher for a technician's account.")


def _read_later(connection: AnyConnection) -> bool:
    """Whether the handler reads the person, and its service asks for the role. All others need a `Person` there."""
    return isinstance(connection.scope.get("user"), Asker)
