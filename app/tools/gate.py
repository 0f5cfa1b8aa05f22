"""The gate: one pure function that decides every call, whoever makes it (T-1..T-9, T-13, T-15, SEC-5).

The effective tier is the highest that any rule asks for; nothing lowers it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.tools.policy import CONFIRM_FROM_LEVEL, Mode, Risk, Threshold, Tier, ToolPolicy

Caller = Literal["model", "tool", "operator"]
HookAnswer = Literal["allow", "ask", "deny"]
_HOOK_TIERS: dict[HookAnswer, Tier] = {"allow": Tier.AUTO, "ask": Tier.CONFIRM, "deny": Tier.NEVER}
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """What is asked for: normalised arguments, and for the `request` tool its side of the handshake (T-10)."""

    args: Mapping[str, Any] = field(default_factory=dict)
    intent: str | None = None


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who calls, in which mode. Carried by the run, never by the caller's word (scenario 4.6).

    `raised` is the tier that an admin asks for, `hook` what the operator's pre-call hook said of this very call.
    """

    mode: Mode
    role: str
    ai_on: bool = True
    by: Caller = "model"
    delegated: bool = False
    raised: Tier = Tier.AUTO
    hook: HookAnswer = "allow"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that contributed: its id, the tier it asks for, and why."""

    id: str
    tier: Tier
    reason: str


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The gate's answer, kept with the call as its proof (T-13). `blocked` says why it never reaches the tool."""

    tier: Tier
    risk: Risk
    rules: tuple[Rule, ...] = ()
    blocked: str | None = None
    mutates: bool = True
    policy: str = ""
    source: str = ""
    prompt: str | None = None
    by: Caller = "model"
    delegated: bool = False

    @property
    def is_escalated(self) -> bool:
        """Whether a threshold or a delegation raised the call to where it is."""
        return any(rule.id in _ESCALATIONS and rule.tier == self.tier for rule in self.rules)

    @property
    def denial(self) -> str:
        """Why a call of tier review or never did not run, in plain words (T-8)."""
        top = [rule for rule in self.rules if rule.tier == self.tier]
        escalations = [rule for rule in top if rule.id in _ESCALATIONS]
        if escalations:
            return " ".join(f"{_ESCALATIONS[rule.id]}: {rule.reason}." for rule in escalations)
        return "; ".join(rule.reason for rule in top) + "."

    def as_record(self) -> dict[str, Any]:
        """`{tier, risk, riskLevel, rules: [{id, tier, reason}], blocked, mutates, policy, source, by, delegated}`."""
        return {
            "tier": self.tier.word,
            "risk": self.risk.value,
            "riskLevel": self.risk.level,
            "rules": [{"id": rule.id, "tier": rule.tier.word, "reason": rule.reason} for rule in self.rules],
            "blocked": self.blocked,
            "mutates": self.mutates,
            "policy": self.policy,
            "source": self.source,
            "prompt": self.prompt,
            "by": self.by,
            "delegated": self.delegated,
        }


_ESCALATIONS = {"T-6": "Threshold escalation", "T-7": "Delegated agent escalation"}


def decide(call: ProposedCall, policy: ToolPolicy, context: CallContext) -> GateDecision:
    """The effective tier of `call` under `policy` in `context`, with every rule that contributed."""
    rules = [*_of_the_class(policy, context), *_of_the_owner(policy, context), *_of_the_call(call, policy)]
    if context.delegated and policy.refuse_delegated:
        rules.append(Rule("T-7", Tier.NEVER, "it takes no calls that another agent makes for a person"))
    tier = max(rule.tier for rule in rules)
    if context.delegated and policy.escalate_delegated and tier is Tier.CONFIRM:
        tier = Tier.REVIEW
        rules.append(Rule("T-7", tier, "a call made for a person by another agent needs review here"))
    return GateDecision(
        tier,
        policy.risk,
        tuple(rules),
        barred(policy, context),
        mutates=policy.mutates,
        policy=policy.version,
        source=policy.source,
        prompt=policy.prompt,
        by=context.by,
        delegated=context.delegated,
    )


def barred(policy: ToolPolicy, context: CallContext) -> str | None:
    """Why this caller may not use the tool at all, whatever the call says; None when they may."""
    if context.mode not in policy.modes:
        return f"{policy.name} is not available here."
    if context.role not in policy.roles:
        return f"Your role ({context.role}) may not use {policy.name}."
    if context.by == "model" and not policy.llm_callable:
        return f"{policy.name} is not for the model to call."
    if not context.ai_on:
        return "AI is switched off for this person."
    return None


def _of_the_class(policy: ToolPolicy, context: CallContext) -> list[Rule]:
    asks = "asks for confirmation" if policy.risk.level >= CONFIRM_FROM_LEVEL else "asks for nothing"
    tier = Tier.CONFIRM if policy.risk.level >= CONFIRM_FROM_LEVEL else Tier.AUTO
    rules = [Rule("T-1", tier, f"risk {policy.risk}, level {policy.risk.level}, {asks}")]
    if policy.risk is Risk.UNKNOWN:
        rules.append(Rule("T-3", Tier.REVIEW, "a tool without a class waits for review"))
    if policy.mutates and context.mode == "copilot":
        rules.append(Rule("T-2", Tier.CONFIRM, "the copilot never changes anything unasked"))
    return rules


def _of_the_owner(policy: ToolPolicy, context: CallContext) -> list[Rule]:
    """What the policy's owner, an admin and the operator's hook ask for."""
    rules = []
    is_gated = policy.exposure == "operator-gated"
    if policy.confirm > Tier.AUTO and not (is_gated and context.by != "model" and policy.confirm is Tier.NEVER):
        why = policy.reason or f"its policy says {policy.confirm.word}"
        rules.append(Rule("T-4", policy.confirm, why))
    if policy.exposure == "requires-confirmation":
        rules.append(Rule("T-5", Tier.CONFIRM, policy.reason or "its author asks for confirmation"))
    if is_gated and context.by == "model":
        rules.append(Rule("T-5", Tier.NEVER, "it runs from the operator's page only"))
    if context.raised > Tier.AUTO:
        rules.append(Rule("raised", context.raised, f"an admin raised it to {context.raised.word}"))
    if (asked := _HOOK_TIERS[context.hook]) > Tier.AUTO:
        rules.append(Rule("T-15", asked, f"the operator's hook said {context.hook}"))
    return rules


def _of_the_call(call: ProposedCall, policy: ToolPolicy) -> list[Rule]:
    rules = []
    if policy.mutates and call.intent == "read":
        rules.append(Rule("T-10", Tier.NEVER, "a call that changes something must declare intent write"))
    crossed = [_crossed(threshold, call, policy) for threshold in policy.thresholds]
    return rules + [rule for rule in dict.fromkeys(crossed) if rule is not None]


def _crossed(threshold: Threshold, call: ProposedCall, policy: ToolPolicy) -> Rule | None:
    value = _at(call.args, threshold.field)
    if value is _ABSENT:
        return None
    if not _is_number(value):
        highest = max(declared.escalate for declared in policy.thresholds)
        return Rule("T-6", highest, f"{threshold.field} is not a number")
    if value <= threshold.above:
        return None
    return Rule("T-6", threshold.escalate, f"{threshold.field} is {str(value)[:30]}, above {threshold.above:g}")


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _at(value: Any, path: str) -> Any:
    """The value at a dotted path; absent only where a key is missing: what is no object on the way is a wrong type."""
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        if part not in value:
            return _ABSENT
        value = value[part]
    return value


def with_answers(context: CallContext, *, raised: Tier, hook: HookAnswer) -> CallContext:
    """`context` with what an admin and the operator's hook ask of this call."""
    return replace(context, raised=raised, hook=hook)
