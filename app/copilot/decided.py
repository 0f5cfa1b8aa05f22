"""A proposal that does not wait any more, met by somebody who wanted to decide it (D-6, T-12)."""

from __future__ import annotations

from app.core.errors import AppError
from app.runs.errors import ApprovalExpired, ApprovalResolved, ApprovalStale
from app.runs.models import AgentToolCall

_AS_DECIDED = {True: ("approved", "executed"), False: ("rejected",)}


class AlreadyDecided(Exception):
    """`call` is the proposal as it stands."""

    def __init__(self, call: AgentToolCall) -> None:
        self.call = call
        super().__init__(call.outcome)

    @property
    def _status(self) -> str:
        return self.call.approval.status if self.call.approval else ""

    def agrees(self, *, approve: bool) -> bool:
        """Whether it was decided like this: a retry of the same decision."""
        return self.call.outcome in _AS_DECIDED[approve] or self._status == _AS_DECIDED[approve][0]

    def refusal(self) -> AppError:
        """What to tell somebody whose decision comes too late."""
        if self.call.outcome == "expired":
            return ApprovalExpired()
        if self.call.outcome == "stale":
            return ApprovalStale()
        what = "approved" if self._status == "approved" else self.call.outcome
        return ApprovalResolved(f"This was already decided: {what}.")
