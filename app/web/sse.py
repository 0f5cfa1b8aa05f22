"""Server-sent events: framing that survives any text, and the answer that carries them (003 §4.8, D-2).

Lines end with LF only, and data stands on one line as ASCII JSON or as HTML split into `data:` lines: neither CR nor
U+2028 can break a frame, wherever a chunk ends.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from litestar.response import Stream

STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
_BREAKS = re.compile(r"\r\n|\r|\n")


def frame(data: str, *, event: str | None = None, entry_id: str = "") -> bytes:
    """One message. `event` is one of a closed set of names, never text from outside."""
    lines = [f"event: {event}"] if event else []
    if entry_id:
        lines.append(f"id: {entry_id}")
    lines.extend(f"data: {line}" for line in _BREAKS.split(data))
    return ("\n".join(lines) + "\n\n").encode()


def comment(text: str = "ping") -> bytes:
    """A line that keeps proxies awake and that no client sees."""
    return f": {text}\n\n".encode()


def event_stream(frames: AsyncIterator[bytes], headers: dict[str, str] | None = None) -> Stream:
    """A `text/event-stream` answer, 200, unbuffered and uncompressed."""
    return Stream(frames, media_type="text/event-stream", headers=STREAM_HEADERS | (headers or {}), status_code=200)
