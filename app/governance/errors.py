"""What governance refuses (003 §8.1)."""

from __future__ import annotations

from typing import ClassVar, Literal

from app.core.errors import AppError

Scope = Literal["user", "agent", "global", "actions"]

_WORDS: dict[Scope, str] = {
    "user": "Your AI budget for today is used up. It starts anew at midnight UTC.",
    "agent": "The agent's budget for today is used up. It starts anew at midnight UTC.",
    "actions": "The agent's number of provider calls for today is used up. It starts anew at midnight UTC.",
    "global": "The desk's AI budget for today is used up. It starts anew at midnight UTC.",
}


class BudgetExceeded(AppError):
    """A daily cap is reached (D-10)."""

    code: ClassVar[str] = "AI_BUDGET_EXCEEDED"
    status: ClassVar[int] = 429
    default_message: ClassVar[str] = _WORDS["user"]

    def __init__(self, scope: Scope) -> None:
        super().__init__(_WORDS[scope])
        self.scope = scope


class AiUnavailable(AppError):
    """AI is off, for the desk or by a dispatcher (D-18, D-22)."""

    code: ClassVar[str] = "AI_UNAVAILABLE"
    status: ClassVar[int] = 503
    default_message: ClassVar[str] = (
        "AI is off on this desk. Set AI_ENABLED=true with a provider to turn it on; everything else works."
    )
