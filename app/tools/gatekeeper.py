"""The gate with what it must know of this moment: raised tiers and the operator's hook (T-13, T-15).

Every caller asks here: the copilot, an approved call about to run, a custom tool through its client.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.logging import get_logger
from app.governance.service import GovernanceService
from app.llm.port import ToolSpec
from app.tools.arguments import Arguments, json_schema
from app.tools.gate import CallContext, GateDecision, HookAnswer, ProposedCall, barred, decide, with_answers
from app.tools.policy import TIERS, Tier, ToolPolicy
from app.tools.registry import ToolRegistry
from app.tools.tool import HasOwnSchema, Tool, names_of, policy_of

log = get_logger(__name__)

HOOK_S = 2.0

Hook = Callable[[str, dict[str, Any], dict[str, Any]], "HookAnswer | Awaitable[HookAnswer]"]
"""Tool name, arguments and `{mode, role, by, delegated}` → `allow`, `ask` or `deny`. Called before every call."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The raised tiers as they stood when a step began, by tool or endpoint name."""

    raised: Mapping[str, Tier]

    def of(self, name: str) -> Tier:
        return self.raised.get(name, Tier.AUTO)


class Gatekeeper:
    """Asks the hook, looks up what was raised, and decides."""

    def __init__(self, registry: ToolRegistry, governance: GovernanceService, hook: Hook | None = None) -> None:
        self._registry = registry
        self._governance = governance
        self._hook = hook

    async def standing(self) -> Standing:
        """Read before each step, so that a raise bites at the next one."""
        raised = await self._governance.raised_tiers()
        return Standing({entry.name: TIERS.get(entry.tier, Tier.NEVER) for entry in raised})

    async def judge(
        self, tool: Tool, args: Arguments, context: CallContext, standing: Standing | None = None
    ) -> GateDecision:
        """The decision on this very call."""
        call = ProposedCall(args.frozen_args(), getattr(args, "intent", None))
        names = names_of(tool, args)
        return await self.judge_by(policy_of(tool, args), call, context, names=names, standing=standing)

    async def judge_by(
        self,
        policy: ToolPolicy,
        call: ProposedCall,
        context: CallContext,
        *,
        names: Sequence[str] = (),
        standing: Standing | None = None,
    ) -> GateDecision:
        """The decision on a call under `policy`; `names` are those it may have been raised under, the tool's first."""
        names = names or (policy.name,)
        standing = standing or await self.standing()
        raised = max(standing.of(name) for name in names)
        hook = await self._ask(names[0], copy.deepcopy(dict(call.args)), context)
        return decide(call, policy, with_answers(context, raised=raised, hook=hook))

    def offered(self, context: CallContext, standing: Standing) -> tuple[ToolSpec, ...]:
        """The tools that the model sees in `context`, in a fixed order: none that it could never call."""
        return tuple(
            ToolSpec(tool.policy.name, tool.description, schema_of(tool))
            for tool in self._registry
            if self._may_be_called(tool, context, standing)
        )

    def _may_be_called(self, tool: Tool, context: CallContext, standing: Standing) -> bool:
        seen = with_answers(context, raised=standing.of(tool.policy.name), hook="allow")
        return barred(tool.policy, context) is None and decide(ProposedCall(), tool.policy, seen).tier < Tier.NEVER

    async def _ask(self, name: str, args: dict[str, Any], context: CallContext) -> HookAnswer:
        """The hook's answer; what fails, is late or makes no sense denies."""
        if self._hook is None:
            return "allow"
        about = {"mode": context.mode, "role": context.role, "by": context.by, "delegated": context.delegated}
        try:
            async with asyncio.timeout(HOOK_S):
                answer = await asyncio.to_thread(self._hook, name, args, about)
                if inspect.isawaitable(answer):
                    answer = await answer
        except Exception as error:
            log.warning("tool_hook_failed", tool=name, error=type(error).__name__)
            return "deny"
        return answer if answer in ("allow", "ask", "deny") else "deny"


def schema_of(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of its arguments, as the model gets it."""
    return tool.schema if isinstance(tool, HasOwnSchema) else json_schema(tool.arguments)
