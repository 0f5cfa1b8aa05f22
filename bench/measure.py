"""How things are measured: sides by turns, so that a busy machine is unkind to all of them alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

Sample = Callable[[], float]


def by_turns(rounds: int, *sides: Sample) -> list[list[float]]:
    """One sample of each side per round, A B A B …; the samples of each side."""
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for place in order:
            taken[place].append(sides[place]())
    return taken


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios round by round."""
    return median(our / their for our, their in zip(ours, theirs, strict=True))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that `percent` of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
