"""Who may govern the agents (AGT-8, SEC-6)."""

from __future__ import annotations

from app.accounts.actors import Actor, HumanActor, require_human
from app.core.errors import Forbidden


def require_admin(actor: Actor) -> HumanActor:
    """The dispatcher behind `actor`. Raises `Forbidden`."""
    human = require_human(actor)
    if human.role != "admin":
        raise Forbidden("Only a dispatcher may change what agents do.")
    return human
