"""An `Answer` as an OpenAI-compatible endpoint sends it: a stream of chunks, or one JSON body."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from app.llm.demo.script import Answer, Call, Raw

MODEL = "desk-demo"
_PIECE = re.compile(r"\s*\S+\s*")
_WORDS_PER_CHUNK = 3
_ARGUMENT_PIECE = 24


def as_stream(answer: Answer, request: dict[str, Any]) -> Raw:
    """Words in small pieces, arguments in pieces, the end, the usage and `[DONE]`, each a chunk."""
    base = {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in _pieces(answer.text)]
    for index, call in enumerate(answer.calls):
        deltas += _call_deltas(index, call)
    first, *rest = deltas or [{"content": ""}]
    choices = [_choice({"role": "assistant", **first}), *map(_choice, rest), _choice({}, _finish_reason(answer))]
    chunks: list[dict[str, Any]] = [{**base, "choices": [choice]} for choice in choices]
    if usage := _usage(answer, request):
        chunks.append({**base, "choices": [], "usage": usage})
    lines = (*(json.dumps(chunk) for chunk in chunks), "[DONE]")
    return _raw(answer, "text/event-stream", tuple(f"data: {line}\n\n".encode() for line in lines))


def as_complete(answer: Answer, request: dict[str, Any]) -> Raw:
    """One JSON body."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [_wire_call(call) for call in answer.calls]
    body = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(answer)}],
        "usage": _usage(answer, request),
    }
    return _raw(answer, "application/json", (json.dumps(body).encode(),))


def _raw(answer: Answer, content_type: str, chunks: tuple[bytes, ...]) -> Raw:
    return Raw(200, {"Content-Type": content_type}, chunks, before=answer.before, middle=answer.middle)


def _pieces(text: str) -> list[str]:
    words = _PIECE.findall(text) or ([text] if text else [])
    return ["".join(words[i : i + _WORDS_PER_CHUNK]) for i in range(0, len(words), _WORDS_PER_CHUNK)]


def _call_deltas(index: int, call: Call) -> list[dict[str, Any]]:
    wire = _wire_call(call)
    text = wire["function"]["arguments"]
    pieces = [text[i : i + _ARGUMENT_PIECE] for i in range(0, len(text), _ARGUMENT_PIECE)]
    opening = {**wire, "index": index, "function": {"name": call.name, "arguments": ""}}
    following = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [entry]} for entry in (opening, *following)]


def _wire_call(call: Call) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    call_id = call.id or f"call_{uuid.uuid4().hex[:12]}"
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _choice(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _finish_reason(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _usage(answer: Answer, request: dict[str, Any]) -> dict[str, int] | None:
    if answer.usage is None:
        return None
    if answer.usage == "counted":
        asked = len(json.dumps([request.get("messages"), request.get("tools")]))
        answered = len(answer.text) + sum(len(call.name) + len(str(call.arguments)) for call in answer.calls)
        prompt, completion = 1 + asked // 4, 1 + answered // 4
    else:
        prompt, completion = answer.usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
