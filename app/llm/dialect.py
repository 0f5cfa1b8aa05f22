"""Request bodies, and what an endpoint was found not to take (D-25): learnt from its 400s, kept for the process."""

from __future__ import annotations

import json
from typing import Any, Literal

from app.llm.port import ChatMessage, ChatRequest, ToolSpec

StructuredOutput = Literal["auto", "json_schema", "json_object", "off"]
_WEAKER: dict[StructuredOutput, StructuredOutput] = {"json_schema": "json_object", "json_object": "off"}


class Dialect:
    """How this endpoint wants to be asked. `structured_output` is AI_STRUCTURED_OUTPUT."""

    def __init__(self, model: str, structured_output: StructuredOutput = "auto") -> None:
        self._model = model
        self._adapts = structured_output == "auto"
        self.response_format: StructuredOutput = "json_schema" if self._adapts else structured_output
        self._limit_key = "max_tokens"

    def body(self, request: ChatRequest, *, stream: bool) -> bytes:
        """The JSON body of one request, ASCII only."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [_message(message) for message in request.messages],
            self._limit_key: request.max_tokens,
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.schema is not None and self.response_format != "off":
            body["response_format"] = _response_format(self.response_format, request.schema)
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()

    def concede(self, sent: bytes, refusal: bytes) -> bool:
        """Whether a 400 with the body `refusal` taught something that makes asking again, at once, worth it.

        `sent` is the refused body: another request may have taught the same meanwhile.
        """
        if b'"max_tokens":' in sent and b"max_completion_tokens" in refusal:
            self._limit_key = "max_completion_tokens"
            return True
        asked = _asked_format(sent)
        names_it = b"response_format" in refusal or b"json_schema" in refusal or b"json_object" in refusal
        if not self._adapts or asked is None or not names_it:
            return False
        if self.response_format == asked:
            self.response_format = _WEAKER[asked]
        return True


def _asked_format(sent: bytes) -> StructuredOutput | None:
    kind = json.loads(sent).get("response_format", {}).get("type")
    return kind if kind in _WEAKER else None


def _message(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return wire


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _response_format(kind: StructuredOutput, schema: dict[str, Any]) -> dict[str, Any]:
    if kind == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
