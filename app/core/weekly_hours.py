"""Hours of the week, written as people write them: `*`, `8-18`, `Mon-Fri 08:00-18:00 Europe/Berlin` (D-12).

Several are joined by `;`. `H-H` is in UTC, every day; a span that ends before it begins runs past midnight and
belongs to the day it begins on. Everything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = "|".join(_DAYS)
_PLAIN = re.compile(r"(\d{1,2})-(\d{1,2})\Z", re.ASCII)
_FULL = re.compile(rf"({_DAY})(?:-({_DAY}))? (\d\d):(\d\d)-(\d\d):(\d\d) ([A-Za-z][A-Za-z0-9_+/-]*)\Z", re.ASCII)
_ALLOWED = "must be *, H-H in UTC (8-18), or Mon-Fri 08:00-18:00 Europe/Berlin; several are joined by ;"
_MAX_SPANS = 20
_MIDNIGHT = 24 * 60


@dataclass(frozen=True, slots=True)
class _Span:
    """On `days` (0 = Monday) from minute `start` to minute `end` of the day in `zone`; `end` may lie past midnight."""

    days: frozenset[int]
    start: int
    end: int
    zone: tzinfo

    def on(self, day: date) -> tuple[datetime, datetime] | None:
        """The opening that begins on `day`, in UTC."""
        if day.weekday() not in self.days:
            return None
        return self._instant(day, self.start), self._instant(day, self.end)

    def _instant(self, day: date, minute: int) -> datetime:
        days, rest = divmod(minute, _MIDNIGHT)
        local = datetime.combine(day + timedelta(days=days), time(rest // 60, rest % 60), self.zone)
        return local.astimezone(UTC)


class WeeklyHours:
    """When something may work. Read one with `parse_hours`."""

    def __init__(self, spans: tuple[_Span, ...] | None) -> None:
        self._spans = spans

    def open_at(self, moment: datetime) -> bool:
        return self._spans is None or any(start <= moment < end for start, end in self._around(moment, 1))

    def next_opening(self, moment: datetime) -> datetime:
        """`moment` itself when open then, else the next instant that is."""
        if self.open_at(moment):
            return moment
        return min(start for start, end in self._around(moment, 9) if start > moment and start < end)

    def openings(self, moment: datetime, days: int) -> list[tuple[datetime, datetime]]:
        """The openings of the next `days` days from `moment`, in UTC, in order; those that overlap are joined."""
        until = moment + timedelta(days=days)
        if self._spans is None:
            return [(moment, until)]
        joined: list[tuple[datetime, datetime]] = []
        for start, end in sorted(self._around(moment, days + 1)):
            cut = (max(start, moment), min(end, until))
            if cut[0] >= cut[1]:
                continue
            if joined and cut[0] <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], cut[1]))
            else:
                joined.append(cut)
        return joined

    def _around(self, moment: datetime, days: int) -> Iterator[tuple[datetime, datetime]]:
        """The openings that begin between two days before `moment` and `days` days after it."""
        for span in self._spans or ():
            today = moment.astimezone(span.zone).date()
            for offset in range(-2, days + 1):
                if opening := span.on(today + timedelta(days=offset)):
                    yield opening


@lru_cache(maxsize=64)
def parse_hours(text: str) -> WeeklyHours:
    """The hours that `text` means. Raises `ValueError`, which says what is allowed."""
    if text.strip() == "*":
        return WeeklyHours(None)
    parts = [part.strip() for part in text.split(";")]
    if len(parts) > _MAX_SPANS:
        raise ValueError(_ALLOWED)
    return WeeklyHours(tuple(_span(part) for part in parts))


def _span(text: str) -> _Span:
    if plain := _PLAIN.match(text):
        start, end = (int(hour) * 60 for hour in plain.groups())
        return _checked(frozenset(range(7)), start, end, UTC)
    full = _FULL.match(text)
    if full is None:
        raise ValueError(_ALLOWED)
    first, last, *digits, name = full.groups()
    start_h, start_m, end_h, end_m = (int(part) for part in digits)
    if start_m > 59 or end_m > 59:
        raise ValueError(_ALLOWED)
    return _checked(_days(first, last or first), start_h * 60 + start_m, end_h * 60 + end_m, _zone(name))


def _checked(days: frozenset[int], start: int, end: int, zone: tzinfo) -> _Span:
    if start >= _MIDNIGHT or end > _MIDNIGHT or start == end:
        raise ValueError(_ALLOWED)
    return _Span(days, start, end if end > start else end + _MIDNIGHT, zone)


def _days(first: str, last: str) -> frozenset[int]:
    start, end = _DAYS.index(first), _DAYS.index(last)
    return frozenset((start + step) % 7 for step in range((end - start) % 7 + 1))


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # a malformed name, a folder, an unknown zone
        raise ValueError(f"names no time zone that is known; {_ALLOWED}") from None
