"""Time, as one object that tests can move.

MongoDB keeps milliseconds; `now()` is cut to them so that what is compared or hashed is what is stored.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    def now(self) -> datetime:
        """The present instant, UTC, cut to milliseconds."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return cut_to_ms(datetime.now(UTC))


class ManualClock:
    """A clock that stands until it is moved (tests)."""

    def __init__(self, start: datetime) -> None:
        self._now = cut_to_ms(start)

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by


def cut_to_ms(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def iso_ms(moment: datetime) -> str:
    """ISO-8601 UTC with milliseconds and `Z` (HTTP-3). Naive values are taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def utc_day(moment: datetime) -> str:
    """The UTC calendar day as `YYYY-MM-DD`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def monotonic_ms() -> float:
    return time.monotonic() * 1000
