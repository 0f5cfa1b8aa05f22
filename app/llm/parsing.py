"""Chunks and messages of an OpenAI-compatible endpoint → deltas of the port (D-9). Pure: no HTTP, no waiting.

The envelope is read with tolerance (empty or null `choices`, null `delta`, `usage: null`, unknown fields), what a
tool would run with none (see `calls`). `finish_reason` says only that the answer is over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from app.llm.calls import CallAssembler, DoubledKeys
from app.llm.port import CallFault, CallRequested, Completion, Delta, ProviderUnavailable, StepDone, TextDelta, Usage
from app.llm.sse import SseEvent, SseParser
from app.llm.text import TextFlow, readable

MAX_REPORTED_TOKENS = 1_000_000_000
_DONE = "[DONE]"


class AnswerStream:
    """One streamed answer: bytes in, text out at once, calls and usage at the end. Raises `ProviderUnavailable`."""

    def __init__(self) -> None:
        self._sse = SseParser()
        self._text = TextFlow()
        self._calls = CallAssembler()
        self._usage: Usage | None = None
        self.finished = False
        """A `finish_reason` or `[DONE]` was seen: what follows, or fails, can only be about usage."""
        self.done = False
        """`[DONE]` was seen: nothing is to be read any more."""

    def feed(self, chunk: bytes) -> Iterator[TextDelta]:
        """The text that `chunk` completes."""
        try:
            events = self._sse.feed(chunk)
        except UnicodeDecodeError:
            raise ProviderUnavailable("stream is not UTF-8") from None
        for event in events:
            yield from self._take(event)

    def end(self) -> Iterator[Delta]:
        """What is left at the end of the stream: text, then calls and faults, then `StepDone`."""
        yield from self._tail()
        if not self.finished:
            raise ProviderUnavailable("stream ended before the answer did")
        if rest := self._text.end():
            yield TextDelta(rest)
        calls, faults = self._calls.finish()
        yield from calls
        yield from faults
        yield StepDone(self._usage)

    def _tail(self) -> Iterator[TextDelta]:
        try:
            for event in self._sse.end():
                yield from self._take(event)
        except (UnicodeDecodeError, ProviderUnavailable):
            if not self.finished:
                raise ProviderUnavailable("stream broke off inside an event") from None

    def _take(self, event: SseEvent) -> Iterator[TextDelta]:
        if self.done:
            return
        if event.data.strip() == _DONE:
            self.done = self.finished = True
            return
        chunk = parse_envelope(event.data)
        if event.name == "error":
            raise ProviderUnavailable("error event in the stream")
        if chunk.get("usage") is not None:
            self._usage = parse_usage(chunk["usage"])
        if (choice := _first_choice(chunk)) is not None:
            yield from self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> Iterator[TextDelta]:
        if choice.get("finish_reason"):
            self.finished = True
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        if text := self._text.feed(_words(delta)):
            yield TextDelta(text)
        for fragment in _entries(delta):
            self._calls.add_fragment(fragment)


def parse_completion(body: str | bytes) -> Completion:
    """The whole answer of a request without streaming. Raises `ProviderUnavailable`."""
    answer = parse_envelope(body)
    choice = _first_choice(answer)
    message = choice.get("message") if choice else None
    if not isinstance(message, dict):
        raise ProviderUnavailable("answer without a message")
    assembler = CallAssembler()
    for entry in _entries(message):
        assembler.add_whole(entry)
    calls, faults = assembler.finish()
    return Completion(readable(_words(message)), tuple(calls), tuple(faults), parse_usage(answer.get("usage")))


def as_deltas(completion: Completion) -> Iterator[Delta]:
    """A whole answer in the order of a streamed one."""
    if completion.text:
        yield TextDelta(completion.text)
    rest: tuple[CallRequested | CallFault, ...] = (*completion.calls, *completion.faults)
    yield from rest
    yield StepDone(completion.usage)


def parse_envelope(text: str | bytes) -> dict[str, Any]:
    """The JSON object around an answer or a chunk of one. Raises `ProviderUnavailable`, also for an error object."""
    try:
        value = _ENVELOPE.decode(text.decode() if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        raise ProviderUnavailable("answer is not JSON") from None
    if not isinstance(value, dict):
        raise ProviderUnavailable("answer is not a JSON object")
    if value.get("error"):
        raise ProviderUnavailable("error object in the answer")
    return value


def parse_usage(value: Any) -> Usage | None:
    """Tokens as reported, or None where they are missing, not counts, or all zero (no answer costs nothing)."""
    if not isinstance(value, dict):
        return None
    spent = (value.get("prompt_tokens"), value.get("completion_tokens"))
    counts = [n for n in spent if isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= MAX_REPORTED_TOKENS]
    return Usage(counts[0], counts[1]) if len(counts) == 2 and any(counts) else None


def _first_choice(envelope: dict[str, Any]) -> dict[str, Any] | None:
    choices = envelope.get("choices")
    listed = choices if isinstance(choices, list) else []
    return next((c for c in listed if isinstance(c, dict) and c.get("index") in (0, None)), None)


def _words(message: dict[str, Any]) -> str:
    """The text for the person: `content`, as a string or as text parts, or a refusal. Reasoning is not shown."""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, list):
        return "".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
    return content if isinstance(content, str) else ""


def _entries(message: dict[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    return calls if isinstance(calls, list) else []


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else DoubledKeys(value)


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= 20 else float(digits)  # `int` refuses thousands of digits


_ENVELOPE = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_int)
