"""Bytes of a `text/event-stream` → the data of its events, by the standard's rules.

Lines end at LF, or CR LF, as bytes: `str.splitlines` and httpx's line iterator also split at U+2028, U+2029 and
U+0085, which may stand inside a model's words.
"""

from __future__ import annotations

from typing import NamedTuple


class SseEvent(NamedTuple):
    """One event: its name (`message` when the stream names none) and its data, lines joined by LF."""

    name: str
    data: str


class SseParser:
    """Takes the stream in any segmentation. The caller bounds its total size."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes. Raises `UnicodeDecodeError` for a line that is not UTF-8."""
        head, *lines = chunk.split(b"\n")
        self._rest.append(head)
        if not lines:
            return []
        whole = [b"".join(self._rest), *lines[:-1]]
        self._rest = [lines[-1]]
        return [event for line in whole if (event := self._line(line)) is not None]

    def end(self) -> list[SseEvent]:
        """What the end of the stream completes: a last event whose blank line never came."""
        line, self._rest = b"".join(self._rest), []
        events = (self._line(line) if line else None, self._line(b""))
        return [event for event in events if event is not None]

    def _line(self, raw: bytes) -> SseEvent | None:
        line = raw.removesuffix(b"\r").decode()
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")  # a comment has an empty field
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None

    def _dispatch(self) -> SseEvent | None:
        name, data = self._name or "message", "\n".join(self._data)
        self._name, self._data = "", []
        return SseEvent(name, data) if data else None
