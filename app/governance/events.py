"""What governance tells the features above (D-18)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopilotSwitchedOff:
    """A dispatcher switched everything off: working copilot runs end, pending approvals are void."""

    by: str
