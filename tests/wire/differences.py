"""Where this desk differs from the recording on purpose: the contract wins over what that program did."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

STATUS = {
    "too large": 413,  # HTTP-7: a body beyond the cap
    "someone else's session": 404,  # SEC-14: before the stream, not as an event in it
}
"""Other statuses than recorded, by exchange."""

DROPPED = (
    # D-23: in arguments; the version stands beside them as `stagedVersion`
    (re.compile(r"\.args$"), frozenset({"version"})),
    # D-30: of rows, what was the original's storage; a row carries `id` in place of `_id`
    (re.compile(r"^run detail\.data\.\w+\[\d+\]$"), frozenset({"__v", "expiresAt", "updatedAt"})),
)
"""Fields that are left out here, by the place of the object that had them."""

ADDED = frozenset(
    {
        "argsHash",  # D-8
        "executedHash",  # D-8
        "executedVersion",  # D-5
        "risk", "tier", "confirmationToken", "stagedVersion",  # D-23
        "decision",  # T-13
        "result",  # of a rejected call: what the model was told
        "copilotEnabled", "applyDirection", "switchedAt", "switchedBy",  # D-14, D-18
        "spentUsd",  # D-10
        "preImage",  # null where there was nothing before (D-23)
    }
)  # fmt: skip
"""Fields of the contract that the original did not have; they may stand beside the recorded ones."""


LONGER = re.compile(r"^run detail\.data\.toolCalls$")
"""Lists that may go on here: an automatic change is a call of its own (SEC-11, D-14)."""


@dataclass(frozen=True)
class Rule:
    """At `where` (a pattern over the place, `exchange: event.field`) the value is another one."""

    where: re.Pattern[str]
    holds: Callable[[Any], bool]
    why: str

    def applies(self, where: str, _expected: Any) -> bool:
        return self.where.search(where) is not None


OTHER = [
    Rule(
        re.compile(r"^approved \w+: decide\.data\.outcome$"),
        lambda given: given in ("approved", "executed"),
        "D-30: approved between decision and effect, then executed",
    ),
    Rule(
        re.compile(r"^rejected deletion: decide\.data\.outcome$"),
        lambda given: given == "rejected",
        "D-30: the original still read approved after a rejection",
    ),
    Rule(
        re.compile(r"^rejected deletion: tool_approval_required\.afterDiff$"),
        lambda given: given == {"deleted": True},
        "D-23: a deletion says so",
    ),
    Rule(
        re.compile(r"tool_result\.toolCallId$"),
        lambda given: re.fullmatch(r"[0-9a-f]{24}", given) is not None,
        "D-23: always ours, also for reads",
    ),
    Rule(
        re.compile(r"decide\.data\.latencyMs$|toolCalls\[\d+\]\.latencyMs$|uptimeSeconds$"),
        lambda given: isinstance(given, int) and given >= 0,
        "measured",
    ),
    Rule(
        re.compile(r"(message_done|items\[\d+\]|run detail\.data\.run)\.(inputTokens|outputTokens)$"),
        lambda given: isinstance(given, int) and given > 0,
        "D-10: the sum over the turn, not the last call's alone",
    ),
    Rule(
        re.compile(r"^run detail\.data\.messages\[1\]\.content$"),
        lambda given: set(json.loads(given)) == {"title", "description"},
        "D-16: the model is told what was typed, and no address of a person",
    ),
    Rule(
        re.compile(r"^triage config.*\.dailyActionCap$"),
        lambda given: given in (50, 200),
        "D-30: it starts at 200",
    ),
]
