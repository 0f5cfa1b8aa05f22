"""The one write of triage, under the same gate as every other call (AGT-7, D-14, T-13)."""

from __future__ import annotations

from typing import Any

from app.tools.gate import CallContext, GateDecision, ProposedCall
from app.tools.gatekeeper import Gatekeeper
from app.tools.policy import Risk, ToolPolicy

TRIAGE_APPLY = ToolPolicy(
    "triage_apply", Risk.WRITE, roles=frozenset({"system"}), modes=frozenset({"triage"}), llm_callable=False
)
DESCRIPTION = "Sets the priority that triage suggested, where the triage policy allows it. Nobody is asked."


async def judge_triage_write(gatekeeper: Gatekeeper, args: dict[str, Any]) -> GateDecision:
    """The gate's word on this very write; only auto lets it run, because nobody is there to confirm."""
    context = CallContext("triage", "system", by="tool", delegated=True)
    return await gatekeeper.judge_by(TRIAGE_APPLY, ProposedCall(args), context)
