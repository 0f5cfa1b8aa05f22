"""How long a failed attempt waits."""

from __future__ import annotations

import random
from datetime import timedelta

from app.outbox.backoff import backoff


def test_the_wait_doubles_with_every_attempt_and_never_passes_ten_minutes() -> None:
    """AGT-5: exponential backoff with jitter, bounded."""
    jitter = random.Random(7)
    for attempts in range(1, 40):
        whole = min(600.0, 2.0 * 2 ** (attempts - 1))
        wait = backoff(attempts, jitter)
        assert timedelta(seconds=whole / 2) <= wait <= timedelta(seconds=whole)


def test_two_events_that_failed_together_do_not_come_back_together() -> None:
    """AGT-5."""
    jitter = random.Random(7)
    assert len({backoff(3, jitter) for _ in range(20)}) == 20
