"""Who acts: a person with a role, or the system with one capability (003 §4.2, SEC-6).

The System Actor is no role. Every service refuses it, but for the one entry that its capability names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bson import ObjectId

from app.core.errors import Forbidden

if TYPE_CHECKING:
    from app.accounts.people import PersonRef

Role = Literal["admin", "user", "viewer"]


@dataclass(frozen=True, slots=True)
class HumanActor:
    """A person, as the database knows them at this request. `ref` names them, where it was read with them."""

    id: ObjectId
    role: Role
    kind: Literal["human"] = "human"
    ref: PersonRef | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SystemActor:
    """The triage worker or a dispatcher's manual trigger: capability `triage`, nothing else."""

    capability: Literal["triage"] = "triage"
    id: Literal["system"] = "system"
    role: Literal["system"] = "system"
    kind: Literal["system"] = "system"


Actor = HumanActor | SystemActor


def require_human(actor: Actor) -> HumanActor:
    """The person behind `actor`. Raises `Forbidden` for the System Actor (SEC-6)."""
    if not isinstance(actor, HumanActor):
        raise Forbidden("The system may not do this.")
    return actor
