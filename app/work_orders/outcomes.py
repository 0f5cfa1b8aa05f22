"""How a change can end other than done: the order moved on, or the call was applied already (D-5, D-7)."""

from __future__ import annotations

from app.core.errors import Conflict
from app.work_orders.schemas import WorkOrderPublic


class StaleOrder(Conflict):
    """409: the order is no longer at the version that the caller saw. `current` is how it is now (WO-6)."""

    default_message = "This work order was changed meanwhile. Reload it, look at what changed, and try again."

    def __init__(self, current: WorkOrderPublic) -> None:
        self.current = current
        super().__init__()


class AlreadyApplied(Exception):
    """No failure: the call's own effect is in the order, a retry met itself (D-5). Treat it as executed.

    `version` is the one that the call produced; `current` the order now, None when it is deleted.
    """

    def __init__(self, version: int, current: WorkOrderPublic | None) -> None:
        self.version = version
        self.current = current
        super().__init__(f"applied at version {version}")
