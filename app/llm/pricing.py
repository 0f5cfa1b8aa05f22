"""What a step may cost before it is asked (D-10): an estimate of the prompt that errs upwards, plus the whole answer.

Tokenisers differ; text runs at about four bytes a token, digits and other scripts at fewer. Three bytes a token and
a fee for each message keep the estimate above what common tokenisers count.
"""

from __future__ import annotations

import json
from typing import Any

from app.llm.port import ChatMessage, ChatRequest, Prices, ToolSpec, Usage

BYTES_PER_TOKEN = 3
MESSAGE_OVERHEAD_TOKENS = 8
CALL_OVERHEAD_TOKENS = 12
TOOL_OVERHEAD_TOKENS = 16
REQUEST_OVERHEAD_TOKENS = 16


def estimate_text(text: str) -> int:
    """Tokens of `text`, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def estimate_message(message: ChatMessage) -> int:
    """Tokens of one message of the transcript with its calls."""
    calls = sum(CALL_OVERHEAD_TOKENS + estimate_text(call.id + call.name + call.arguments) for call in message.calls)
    return MESSAGE_OVERHEAD_TOKENS + estimate_text(message.content + (message.tool_call_id or "")) + calls


def estimate_input(request: ChatRequest) -> int:
    """Tokens of the whole prompt: messages, tools on offer and the schema of a structured answer."""
    messages = sum(estimate_message(message) for message in request.messages)
    tools = sum(_estimate_tool(tool) for tool in request.tools)
    return REQUEST_OVERHEAD_TOKENS + messages + tools + (_estimate_json(request.schema) if request.schema else 0)


def reservation_usd(request: ChatRequest, prices: Prices) -> float:
    """US dollars to reserve for `request`: the estimated prompt and `max_tokens` of answer."""
    return prices.cost(Usage(estimate_input(request), request.max_tokens))


def _estimate_tool(tool: ToolSpec) -> int:
    return TOOL_OVERHEAD_TOKENS + estimate_text(tool.name + tool.description) + _estimate_json(tool.parameters)


def _estimate_json(value: dict[str, Any]) -> int:
    return estimate_text(json.dumps(value, ensure_ascii=False))
