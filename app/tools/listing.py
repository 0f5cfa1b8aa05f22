"""Every tool and endpoint with its risk, its tier and the rules behind it; and raising one (issue "One tool policy").

What is shown is what the gate says of a call of the copilot, before its arguments are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.accounts.actors import Actor
from app.core.errors import Conflict, NotFound
from app.governance.access import require_admin
from app.governance.service import GovernanceService
from app.tools.gate import CallContext, GateDecision, ProposedCall, decide, with_answers
from app.tools.gatekeeper import Gatekeeper, Standing
from app.tools.policy import Tier, ToolPolicy


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One row: the policy, what the gate says of it, and the tiers that it can still be raised to."""

    policy: ToolPolicy
    description: str
    decision: GateDecision
    raised: Tier
    higher: tuple[Tier, ...]


class ToolListing:
    """`policies` are all that the gate knows, with a line about each."""

    def __init__(
        self, policies: Iterable[tuple[ToolPolicy, str]], gatekeeper: Gatekeeper, governance: GovernanceService
    ) -> None:
        self._policies = tuple(policies)
        self._gatekeeper = gatekeeper
        self._governance = governance

    async def all(self, actor: Actor) -> list[ListedTool]:
        """Raises `Forbidden`."""
        require_admin(actor)
        standing = await self._gatekeeper.standing()
        return [_listed(policy, description, standing) for policy, description in self._policies]

    async def raise_to(self, actor: Actor, name: str, tier: Tier) -> ListedTool:
        """Puts a tool on a higher tier, audited. Raises `Forbidden`, `NotFound`, `Conflict`: nothing lowers."""
        listed = {row.policy.name: row for row in await self.all(actor)}
        if name not in listed:
            raise NotFound("There is no such tool.")
        if tier not in listed[name].higher:
            raise Conflict(
                f"{name} stands on {listed[name].decision.tier.word} already. A tier can be raised, never lowered."
            )
        lower = [other.word for other in Tier if other < tier]
        await self._governance.raise_tier(actor, name, tier.word, lower)
        return {row.policy.name: row for row in await self.all(actor)}[name]


def _usual_caller(policy: ToolPolicy) -> CallContext:
    """An admin's copilot; the system, for what only triage does."""
    if "copilot" in policy.modes:
        return CallContext("copilot", "admin")
    return CallContext("triage", "system", by="tool", delegated=True)


def _listed(policy: ToolPolicy, description: str, standing: Standing) -> ListedTool:
    raised = standing.of(policy.name)
    context = with_answers(_usual_caller(policy), raised=raised, hook="allow")
    decision = decide(ProposedCall(), policy, context)
    return ListedTool(policy, description, decision, raised, tuple(tier for tier in Tier if tier > decision.tier))
