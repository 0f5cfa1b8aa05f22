"""How much is measured: enough to mean something, or tiny, to see that everything runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of a run. `orders` is the large list, `few_orders` the small one it is compared with.

    `head_start_s` is what each worker gets to be up before its events are due.
    """

    folder: Path
    orders: int = 1_000_000
    few_orders: int = 1_000
    rounds: int = 5
    seconds: float = 3.0
    connections: int = 16
    tokens: int = 500
    answers: int = 5
    streams: int = 200
    stream_tokens: int = 60
    stream_rate: int = 2
    tool_steps: int = 20
    tool_rounds: int = 5
    frameworks: bool = True
    workers: tuple[int, ...] = (1, 2, 4)
    head_start_s: float = 4.0
    claims: int = 4_000
    claim_rounds: int = 3
    events: int = 600
    pickups: int = 200

    def setting(self, part: str) -> str:
        """What was run, for the head of the part's table."""
        return {
            "desk": f"{self.rounds} rounds of {self.seconds:g} s by turns",
            "copilot": f"{self.answers} answers and {self.tool_rounds} rounds of tool steps by turns",
            "triage": f"{self.claims} claims and {self.events} passes for each number of workers, 2 lanes each",
        }[part]


def tiny(folder: Path) -> Plan:
    """Every part in a few seconds; the figures mean nothing."""
    return Plan(
        folder=folder,
        orders=400,
        few_orders=200,
        rounds=1,
        seconds=1.0,
        connections=2,
        tokens=10,
        answers=1,
        streams=3,
        stream_tokens=5,
        tool_steps=2,
        tool_rounds=1,
        workers=(1,),
        head_start_s=2.0,
        claims=20,
        claim_rounds=1,
        events=10,
        pickups=3,
    )
