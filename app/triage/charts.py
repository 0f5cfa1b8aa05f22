"""A bar chart as numbers: the template draws it as SVG, so that it needs neither a script nor an inline style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 96
_GAP = 4
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Bar:
    """One day's bar in the view box; `part` is the height of its lower, marked part."""

    x: float
    y: float
    width: float
    height: float
    part: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`most` is the value at full height, as a person reads it."""

    bars: list[Bar]
    most: str
    width: int = WIDTH
    height: int = HEIGHT


def bar_chart(values: Sequence[float], labels: Sequence[str], most: str, parts: Sequence[float] | None = None) -> Chart:
    """Bars side by side; a value above nothing is always seen."""
    top, step = max([*values, 0]) or 1, WIDTH / max(1, len(values))
    bars = []
    for number, (value, label) in enumerate(zip(values, labels, strict=True)):
        height = _scaled(value, top)
        part = min(height, _scaled(parts[number], top)) if parts else 0.0
        bars.append(Bar(round(number * step, 1), HEIGHT - height, round(step - _GAP, 1), height, part, label))
    return Chart(bars, most)


def _scaled(value: float, top: float) -> float:
    return max(_LEAST, round(HEIGHT * value / top, 1)) if value > 0 else 0.0
