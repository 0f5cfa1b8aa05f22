"""Moments in words."""

from __future__ import annotations

from datetime import UTC, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def ago(moment: datetime, now: datetime) -> str:
    """How long before `now`, in words: `just now`, `12 min ago`, `2 h ago`, `Yesterday`, `3 days ago`, `12 Nov`.

    Days are UTC days here; the browser puts the person's own in their place (`static/js/times.js`, same words).
    """
    moment, now = _aware(moment), _aware(now)
    seconds, days = (now - moment).total_seconds(), (now.date() - moment.date()).days
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if days == 0 or seconds < 6 * 3600:
        return f"{int(seconds // 3600)} h ago"
    if days == 1:
        return "Yesterday"
    if days < 7:
        return f"{days} days ago"
    day = f"{moment.day} {_MONTHS[moment.month - 1]}"
    return day if moment.year == now.year else f"{day} {moment.year}"


def day_time(moment: datetime) -> str:
    """The absolute time: `12 Nov 2026, 08:12 UTC`. The browser shows it in the person's time zone."""
    moment = _aware(moment)
    day = f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
    return f"{day}, {moment.hour:02}:{moment.minute:02} UTC"
