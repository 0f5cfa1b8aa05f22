"""Who asks for a list: their session is checked in the very query that reads it, one trip less for each (AUTH-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bson import ObjectId

from app.accounts.people import Person, person_in
from app.core.errors import Unauthorized

Row = dict[str, Any]

READS_PERSON: dict[str, Any] = {"reads_person": True}
"""The `opt` of a handler that takes an `Asker`: the middleware leaves the session to it, the guards the role."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The person of the session `sid` of `id`: `known`, or to be read, alone or with something else.

    `stage` then goes at the end of another feature's aggregation. It adds one row `{beside: …}` for `person_beside`,
    if the person is active and the session not revoked, and none otherwise.
    """

    id: ObjectId
    sid: str
    known: Person | None = None
    stage: Row | None = None
    read: Callable[[], Awaitable[Person | None]] | None = None

    async def person(self) -> Person:
        """The person, if need be by a query of their own. Raises `Unauthorized`."""
        return _there(self.known or (await self.read() if self.read else None))

    def person_beside(self, beside: Row | None) -> Person:
        """The person that `stage` added. Raises `Unauthorized` where it added none."""
        return _there(person_in(beside, self.sid) if beside else None)


def _there(person: Person | None) -> Person:
    if person is None:
        raise Unauthorized
    return person
