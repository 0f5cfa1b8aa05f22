"""The gate's decision as people read it: each rule with its id, its tier, its reason and its source (T-13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.core.unseen import revealed

TIER_MEANINGS = {
    "auto": "runs at once",
    "confirm": "asks the person first",
    "review": "waits for a dispatcher",
    "never": "never runs",
}
"""What each tier means, said after its name."""

_BUILT_IN = "built in"
_SOURCES = {
    "T-1": _BUILT_IN,
    "T-2": _BUILT_IN,
    "T-3": _BUILT_IN,
    "T-10": _BUILT_IN,
    "T-15": "the operator’s hook",
    "raised": "raised by an admin",
}


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule that contributed. `source` is the file that holds it, or whose word it is."""

    id: str
    tier: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a call ran, or did not. `policy` is the version that decided, `source` where it stands."""

    tier: str
    risk: str
    risk_level: int
    rules: list[RuleLine]
    blocked: str | None
    policy: str
    source: str

    @property
    def meaning(self) -> str:
        return TIER_MEANINGS.get(self.tier, "")


def proof_of(decision: dict[str, Any] | None) -> Proof | None:
    """The proof kept with a call (`GateDecision.as_record`); None where none was kept."""
    if not decision:
        return None
    source = str(decision.get("source") or "")
    return Proof(
        tier=str(decision.get("tier", "unknown")),
        risk=str(decision.get("risk", "unknown")),
        risk_level=int(decision.get("riskLevel", 0)),
        rules=[_line(rule, source) for rule in decision.get("rules", [])],
        blocked=revealed(decision["blocked"]) if decision.get("blocked") else None,
        policy=str(decision.get("policy") or ""),
        source=source,
    )


def _line(rule: dict[str, Any], source: str) -> RuleLine:
    name = str(rule.get("id", "?"))
    return RuleLine(name, str(rule.get("tier", "?")), revealed(str(rule.get("reason", ""))), _SOURCES.get(name, source))
