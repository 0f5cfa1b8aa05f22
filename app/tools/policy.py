"""One tool policy: the risk ladder, the tiers, and what one tool may do (T-1, T-3, T-4, T-5, T-6)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Literal, get_args

from app.core.canonical import sha256_hex

Mode = Literal["copilot", "triage"]
Exposure = Literal["open", "requires-confirmation", "operator-gated"]
EXPOSURES: tuple[Exposure, ...] = get_args(Exposure)


class Risk(StrEnum):
    """What a tool can do, by class. `level` is the ladder of 001 (T-1)."""

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


TIERS = {tier.word: tier for tier in Tier}


@dataclass(frozen=True, slots=True)
class Threshold:
    """`field` is a dotted path into the arguments; a number strictly above `above` asks for `escalate` (T-6)."""

    field: str
    above: float
    escalate: Tier

    def __post_init__(self) -> None:
        if self.escalate < Tier.REVIEW:
            raise ValueError(f"Threshold on {self.field}: escalate must be review or never.")


@dataclass(frozen=True)
class ToolPolicy:
    """How one tool, or one endpoint, may be used. Without a class it is `unknown`, and its tier is review (T-3).

    `confirm` is the tier that its owner asks for (T-4), `source` where that stands. `prompt` is what a person is asked,
    `reason` why. `escalate_delegated`: a call for a user by another agent or the system goes to review;
    `refuse_delegated`: it never runs (T-7).
    """

    name: str
    risk: Risk = Risk.UNKNOWN
    mutates: bool = True
    confirm: Tier = Tier.AUTO
    exposure: Exposure = "open"
    llm_callable: bool = True
    prompt: str | None = None
    reason: str | None = None
    thresholds: tuple[Threshold, ...] = ()
    escalate_delegated: bool = False
    refuse_delegated: bool = False
    roles: frozenset[str] = frozenset({"admin", "user", "viewer"})
    modes: frozenset[Mode] = frozenset({"copilot"})
    source: str = "built in"

    def __post_init__(self) -> None:
        if self.mutates and self.risk is Risk.READ:
            raise ValueError(f"Tool {self.name}: it changes state but is declared read. Declare write or higher.")

    @cached_property
    def version(self) -> str:
        """Names exactly this policy in the proof of a decision (T-13)."""
        told = asdict(self) | {"roles": sorted(self.roles), "modes": sorted(self.modes)}
        told["thresholds"] = [asdict(threshold) for threshold in self.thresholds]
        return sha256_hex(told)[:16]
