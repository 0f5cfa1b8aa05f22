"""The person behind a request, and how other features name people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bson import ObjectId

from app.accounts.actors import HumanActor, Role
from app.core.schemas import Wire


@dataclass(frozen=True, slots=True)
class Person:
    """The signed-in person, read from the database at each request (AUTH-5). `sid` is their session's family."""

    id: ObjectId
    email: str
    name: str
    role: Role
    sid: str
    ai_enabled: bool = True
    ai_opt_out: bool = False

    @property
    def ai_on(self) -> bool:
        """AI is on for a person when the admin allows it and they have not opted out (PROFILE)."""
        return self.ai_enabled and not self.ai_opt_out

    @property
    def actor(self) -> HumanActor:
        return HumanActor(id=self.id, role=self.role, ref=PersonRef(id=str(self.id), name=self.name, email=self.email))


def person_in(row: dict[str, Any], sid: str) -> Person:
    """The person of the session `sid`, from their row of `users`."""
    return Person(
        id=row["_id"],
        email=row["email"],
        name=row["name"],
        role=row["role"],
        sid=sid,
        ai_enabled=row.get("aiEnabled", True),
        ai_opt_out=row.get("aiOptOut", False),
    )


class PersonRef(Wire):
    """`{id, name, email}`: an order's owner on the wire (HTTP-3)."""

    id: str
    name: str
    email: str
