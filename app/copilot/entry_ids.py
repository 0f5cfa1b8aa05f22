"""The ids that Redis gives to a stream's entries: `<milliseconds>-<sequence>` (D-2)."""

from __future__ import annotations

import re

_ENTRY_ID = re.compile(r"\d{1,15}-\d{1,15}\Z", re.ASCII)


def is_entry_id(text: str) -> bool:
    return _ENTRY_ID.match(text) is not None


def after(entry_id: str, other: str) -> bool:
    """Whether `entry_id` comes after `other` in the stream's order."""
    return _place(entry_id) > _place(other)


def _place(entry_id: str) -> tuple[int, int]:
    ms, _, sequence = entry_id.partition("-")
    return int(ms), int(sequence)
