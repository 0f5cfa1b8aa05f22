"""What can go wrong with a suggestion, and how a pass ends early."""

from __future__ import annotations

from app.core.errors import Conflict, NotFound
from app.governance.schemas import Wait


class SuggestionNotFound(NotFound):
    default_message = "There is no such suggestion."


class SuggestionDecided(Conflict):
    """409: somebody decided on it before."""

    default_message = "This suggestion was decided meanwhile."


class NotFailed(Conflict):
    """409: only an event that failed for good can be tried again."""

    default_message = "This event has not failed. It is done, or it will be worked on by itself."


class InvalidProposal(Exception):
    """The model's answer is no proposal. `fault` is one plain sentence that quotes nothing of the answer."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        super().__init__(fault)


class MustWait(Exception):
    """The gate closed during a pass: the event waits (D-11, D-18)."""

    def __init__(self, wait: Wait) -> None:
        self.wait = wait
        super().__init__(wait.reason)


class NothingToDo(Exception):
    """The event needs no triage: the order is gone, or its owner has AI switched off (SEC-8)."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
