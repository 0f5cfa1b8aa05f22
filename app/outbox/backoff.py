"""How long a failed attempt waits before the next (AGT-5)."""

from __future__ import annotations

import random
from datetime import timedelta

_FIRST_S = 2.0
_LONGEST_S = 600.0


def backoff(attempts: int, jitter: random.Random) -> timedelta:
    """Doubles with every attempt up to ten minutes; half of it is random, so that failures do not return together."""
    whole = min(_LONGEST_S, _FIRST_S * 2.0 ** min(attempts - 1, 20))
    return timedelta(seconds=whole / 2 + jitter.uniform(0, whole / 2))
