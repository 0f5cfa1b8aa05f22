"""One tool policy: the risk ladder, the tiers, and the gate that decides a call (T-1..T-3, T-13, SEC-5).

`decide` is a pure function. The effective tier is the highest that any rule asks for; nothing lowers it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Literal

Mode = Literal["copilot", "triage"]


class Risk(StrEnum):
    """What a tool can do, by class. `level` is the ladder of 001."""

    READ = "read"
    WRITE = "write"
    UNKNOWN = "unknown"
    FINANCIAL = "financial"
    DESTRUCTIVE = "destructive"
    BULK = "bulk"

    @property
    def level(self) -> int:
        return _LEVELS[self]


_LEVELS = {
    Risk.READ: 0,
    Risk.WRITE: 1,
    Risk.UNKNOWN: 2,
    Risk.FINANCIAL: 3,
    Risk.DESTRUCTIVE: 4,
    Risk.BULK: 5,
}
CONFIRM_FROM_LEVEL = 3


class Tier(IntEnum):
    """What happens to a call: `auto < confirm < review < never`."""

    AUTO = 0
    CONFIRM = 1
    REVIEW = 2
    NEVER = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """How one tool may be used. A tool without a class is `unknown`, and its tier is review (T-3)."""

    name: str
    risk: Risk = Risk.UNKNOWN
    mutates: bool = True
    roles: frozenset[str] = frozenset({"admin", "user", "viewer"})
    modes: frozenset[Mode] = frozenset({"copilot"})

    def __post_init__(self) -> None:
        if self.mutates and self.risk is Risk.READ:
            raise ValueError(f"Tool {self.name}: it changes state but is declared read. Declare write or higher.")


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who calls, in which mode. Carried by the run, never by the caller's word."""

    mode: Mode
    role: str
    ai_on: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that contributed: its id, the tier it asks for, and why."""

    id: str
    tier: Tier
    reason: str


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The gate's answer, kept with the call as its proof (T-13)."""

    tier: Tier
    risk: Risk
    rules: tuple[Rule, ...] = field(default_factory=tuple)
    blocked: str | None = None

    def as_record(self) -> dict[str, Any]:
        """`{tier, risk, riskLevel, rules: [{id, tier, reason}], blocked}`."""
        return {
            "tier": self.tier.word,
            "risk": self.risk.value,
            "riskLevel": self.risk.level,
            "rules": [{"id": rule.id, "tier": rule.tier.word, "reason": rule.reason} for rule in self.rules],
            "blocked": self.blocked,
        }


def decide(policy: ToolPolicy, context: CallContext) -> GateDecision:
    """The effective tier of a call of `policy` in `context`; `blocked` says why it never reaches the tool."""
    rules = [
        Rule("T-1", Tier.CONFIRM if policy.risk.level >= CONFIRM_FROM_LEVEL else Tier.AUTO, _ladder(policy.risk)),
    ]
    if policy.risk is Risk.UNKNOWN:
        rules.append(Rule("T-3", Tier.REVIEW, "a tool without a class waits for review"))
    if policy.mutates and context.mode == "copilot":
        rules.append(Rule("T-2", Tier.CONFIRM, "the copilot never changes anything unasked"))
    tier = max(rule.tier for rule in rules)
    return GateDecision(tier, policy.risk, tuple(rules), _refusal(policy, context))


def _ladder(risk: Risk) -> str:
    asks = "asks for confirmation" if risk.level >= CONFIRM_FROM_LEVEL else "asks for nothing"
    return f"risk {risk.value}, level {risk.level}, {asks}"


def _refusal(policy: ToolPolicy, context: CallContext) -> str | None:
    if context.mode not in policy.modes:
        return f"{policy.name} is not available here."
    if context.role not in policy.roles:
        return f"Your role ({context.role}) may not use {policy.name}."
    if not context.ai_on:
        return "AI is switched off for this person."
    return None
