"""What can go wrong with runs (003 §8.1)."""

from __future__ import annotations

from app.core.errors import AppError, Conflict, ErrorDetail


class LeaseLostError(Exception):
    """This process no longer holds the run: it must write nothing more (D-1)."""


class RunInProgress(Conflict):
    """One working run per person (D-26)."""

    code = "AI_APPROVAL_PENDING"
    default_message = "The copilot is still at work, or waits for your decision. Decide or stop it first."


class MessageDuplicate(Conflict):
    """The same Idempotency-Key again: `details` names the run to watch (D-17)."""

    code = "AI_MESSAGE_DUPLICATE"
    default_message = "This message was already received."

    def __init__(self, run_id: str) -> None:
        super().__init__(details=[ErrorDetail("runId", run_id)])


class ApprovalResolved(Conflict):
    code = "AI_APPROVAL_RESOLVED"
    default_message = "This was already decided."


class ApprovalStale(Conflict):
    code = "AI_APPROVAL_STALE"
    default_message = "The work order changed meanwhile. Nothing was run; look at the new proposal."


class ApprovalExpired(AppError):
    code = "AI_APPROVAL_EXPIRED"
    status = 410
    default_message = "The time to decide is over. Nothing was run; ask the copilot again."
