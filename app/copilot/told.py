"""What one watcher has had already: a story told from two sources, stream and MongoDB, repeats nothing (D-2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.copilot.events import END, Entry, RunEvent, Token, ToolApprovalRequired, ToolCallStart, identity, is_last

LATE_S = 0.9


@dataclass(slots=True)
class Told:
    """Events by identity, text by how many characters of the run were told, questions by their latest expiry."""

    identities: set[str] = field(default_factory=set)
    characters: int = 0
    expiries: dict[str, datetime] = field(default_factory=dict)
    behind: bool = False
    """Text was left out that only MongoDB can tell, once its step is there."""
    looks: int = 0
    """How often the record was looked at since the last event."""
    missing_since: float | None = None

    @property
    def ended(self) -> bool:
        """Whether the run's last event was told."""
        return END in self.identities

    def is_late(self, missing: bool, now: float) -> bool:
        """Whether something has been missing from a quiet stream for long enough to be lost. `now` in seconds."""
        self.looks += 1
        if not missing:
            self.missing_since = None
            return False
        self.missing_since = self.missing_since or now
        return now - self.missing_since >= LATE_S

    def note(self, event: RunEvent) -> None:
        self.looks, self.missing_since = 0, None
        if isinstance(event, Token):
            self.characters += len(event.content)
            return
        self.identities.add(identity(event))
        if isinstance(event, ToolApprovalRequired):
            self.expiries[event.tool_call_id] = event.expires_at

    def lacks_what_precedes(self, entry: Entry) -> bool:
        """Whether MongoDB must be asked before `entry` is told: its past is missing, or it is the end."""
        event = entry.event
        if isinstance(event, Token):
            return entry.at is not None and entry.at > self.characters
        if self.behind or is_last(event):
            return True
        start = isinstance(event, ToolCallStart)
        return not start and f"{identity(event).partition(':')[0]}:tool_call_start" not in self.identities

    def news_in(self, entry: Entry) -> Entry | None:
        """`entry`, or the part of it that is new; None for what was told, or cannot be told yet."""
        if not isinstance(entry.event, Token):
            return None if self._knows(entry.event) else entry
        if entry.at is None:
            return entry
        if entry.at > self.characters:
            self.behind = True
            return None
        rest = entry.event.content[self.characters - entry.at :]
        return Entry(entry.id, entry.number, Token(content=rest), self.characters) if rest else None

    def missing(self, story: Sequence[RunEvent]) -> list[RunEvent]:
        """What of `story`, the whole run so far, is still to be told."""
        skip = self.characters
        left: list[RunEvent] = []
        for event in story:
            if isinstance(event, Token):
                rest = event.content[skip:]
                skip = max(0, skip - len(event.content))
                if rest:
                    left.append(Token(content=rest))
            elif not self._knows(event):
                left.append(event)
        return left

    def _knows(self, event: RunEvent) -> bool:
        """A question that was asked again, with a later expiry, is news (D-30)."""
        if identity(event) not in self.identities:
            return False
        if isinstance(event, ToolApprovalRequired):
            return event.expires_at <= self.expiries[event.tool_call_id]
        return True
