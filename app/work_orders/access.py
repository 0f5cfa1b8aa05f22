"""Who may see and change which orders (WO-2, WO-6, WO-7, WO-10, SEC-6)."""

from __future__ import annotations

from app.accounts.actors import Actor, HumanActor, SystemActor, require_human
from app.core.errors import Forbidden
from app.work_orders.schemas import Order

READ_ONLY = "You can read here, but not change anything. Ask a dispatcher for a technician's account."


def require_writer(actor: Actor) -> HumanActor:
    """The person behind `actor`, who may change orders at all. Raises `Forbidden` for viewers and the system."""
    human = require_human(actor)
    if human.role == "viewer":
        raise Forbidden(READ_ONLY)
    return human


def require_overseer(actor: Actor) -> HumanActor:
    """The person behind `actor`, who may see everyone's orders. Raises `Forbidden`."""
    human = require_human(actor)
    if human.role not in ("admin", "viewer"):
        raise Forbidden("Only a dispatcher or a viewer may see everyone's work orders.")
    return human


def require_triage(actor: Actor) -> SystemActor:
    """The System Actor with its one capability. Raises `Forbidden` for everyone else (SEC-6)."""
    if not isinstance(actor, SystemActor) or actor.capability != "triage":
        raise Forbidden("Only triage may do this.")
    return actor


def may_see(human: HumanActor, order: Order) -> bool:
    return order.deleted_at is None and (human.role in ("admin", "viewer") or order.owner == human.id)


def may_change(human: HumanActor, order: Order) -> bool:
    """Whether the order is theirs to change, deleted or not; another's is not even known to a technician."""
    return human.role == "admin" or (human.role == "user" and order.owner == human.id)
