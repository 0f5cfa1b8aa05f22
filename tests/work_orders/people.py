"""The standing cast as actors, and a stand-in for the accounts feature that knows them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.accounts.people import PersonRef

OWNER = HumanActor(ObjectId("65f000000000000000000001"), "user")
STRANGER = HumanActor(ObjectId("65f000000000000000000002"), "user")
DISPATCHER = HumanActor(ObjectId("65f000000000000000000003"), "admin")
VIEWER = HumanActor(ObjectId("65f000000000000000000004"), "viewer")

_NAMES = {OWNER.id: "Rosa Lind", STRANGER.id: "Ivo Brandt", DISPATCHER.id: "Dana Holt", VIEWER.id: "Vera Kay"}


@dataclass
class Cast:
    """Counts its look-ups: a list may make one (architecture, "A page")."""

    opted_out: set[ObjectId] = field(default_factory=set)
    lookups: int = 0

    async def refs(self, ids: Iterable[ObjectId]) -> Mapping[ObjectId, PersonRef]:
        self.lookups += 1
        known = [one for one in ids if one in _NAMES]
        return {one: PersonRef(id=str(one), name=_NAMES[one], email=f"{one}@desk.test") for one in known}

    async def ai_on(self, user_id: ObjectId) -> bool:
        return user_id not in self.opted_out
