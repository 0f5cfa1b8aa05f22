"""Server-sent events from bytes (scenario 2.5)."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.llm.sse import SseEvent, SseParser

STREAM = (
    ": keepalive\n\nevent: note\r\ndata: a\r\ndata:b\r\n\r\n:\n\n\ndata\n\nid: 7\nretry: 1\ndata:  two spaces\n\n"
    "data: one\u2028two\u2029three\u0085four\x0bfive\x0csix ✅\n\ndata: [DONE]\n\n"
)
EVENTS = [
    SseEvent("note", "a\nb"),
    SseEvent("message", " two spaces"),
    SseEvent("message", "one\u2028two\u2029three\u0085four\x0bfive\x0csix ✅"),
    SseEvent("message", "[DONE]"),
]


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=12))
def test_events_are_the_same_in_any_segmentation(cuts: list[int]) -> None:
    """D-9, scenario 2.5: comments, CRLF, several data lines, no space, and separators inside the data."""
    raw = STREAM.encode()
    parser = SseParser()
    bounds = [0, *sorted(cuts), len(raw)]
    found = [event for a, b in itertools.pairwise(bounds) for event in parser.feed(raw[a:b])]
    assert found + parser.end() == EVENTS


def test_a_last_event_without_its_blank_line_is_not_lost() -> None:
    """D-9: servers that just close."""
    for tail in ("data: x", "data: x\n", "data: x\r\n"):
        parser = SseParser()
        assert parser.feed(tail.encode()) + parser.end() == [SseEvent("message", "x")]
