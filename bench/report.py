"""`results.md`: one table per part, each with its date and machine, so that a part can be measured anew alone."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

HEADING = """\
# What `make bench` measured

Ratios are taken side by side, by turns, in one run on one machine that may be doing other things; the rest are figures
of that run. Nothing here is a promise for another machine.
"""
PARTS = ("desk", "copilot", "triage")


@dataclass(frozen=True, slots=True)
class Goal:
    """`figure` must be at least, or at most, `bound`."""

    kind: Literal["≥", "≤", "<"]
    bound: float

    def holds(self, figure: float) -> bool:
        if self.kind == "≥":
            return figure >= self.bound
        return figure <= self.bound if self.kind == "≤" else figure < self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table. `unit` stands behind the figure; a ratio has none and is shown with `×`."""

    what: str
    figure: float
    unit: str = "×"
    goal: Goal | None = None
    remark: str = ""

    def line(self) -> str:
        goal = f"{self.goal.kind} {self.goal.bound:g}" if self.goal else "–"
        holds = ("yes" if self.goal.holds(self.figure) else "**no**") if self.goal else "–"
        return f"| {self.what} | {self.shown()} | {goal} | {holds} | {self.remark} |"

    def shown(self) -> str:
        digits = f"{self.figure:,.2f}" if abs(self.figure) < 100 else f"{self.figure:,.0f}"
        return f"{digits}{'' if self.unit == '×' else ' '}{self.unit}"


def section(part: str, rows: Sequence[Row], setting: str) -> str:
    """A part's table. `setting` says what was run: sizes, seconds, rounds."""
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    busy = f"load {os.getloadavg()[0]:.1f} at the end"
    head = "| measured | figure | goal | holds | remark |\n|---|---|---|---|---|"
    lines = "\n".join(row.line() for row in rows)
    return f"## {part}\n\n{when} · {machine} · {busy} · {setting}\n\n{head}\n{lines}\n"


def write(path: Path, part: str, text: str) -> None:
    """Puts the part's section in its place; the other parts stay as they are."""
    kept = _sections(path.read_text()) if path.exists() else {}
    kept[part] = text
    ordered = [kept[name] for name in PARTS if name in kept]
    path.write_text("\n".join([HEADING, *ordered]))


def _sections(text: str) -> dict[str, str]:
    parts = text.split("\n## ")[1:]
    return {part.split("\n", 1)[0]: f"## {part.rstrip()}\n" for part in parts}
