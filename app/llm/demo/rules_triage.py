"""Keyword rules for the triage agent: `{summary, suggestedPriority, flagForDispatcher}` (AGT-4)."""

from __future__ import annotations

import json
import re
from typing import Any

from app.llm.demo.script import Answer

MAX_SUMMARY = 240
_URGENT = re.compile(
    r"\b(leak\w*|gas|fire|smoke|burning|alarm\w*|sparks?|sparking|electric\w*|flood\w*|burst|trapped|emergency|injur\w*"
    r"|(elevator|lift)\b.*\bstuck|stuck\b.*\b(elevator|lift)"
    r"|(no|without) (heat|heating|power|hot water)|power (cut|outage))\b",
    re.IGNORECASE | re.DOTALL,
)
_ROUTINE = re.compile(
    r"\b(quarterly|monthly|annual|yearly|routine|scheduled|paint\w*|repaint\w*|filters?|cosmetic|touch[- ]?up|dust\w*"
    r"|label\w*|inventory)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")


def is_triage(request: dict[str, Any]) -> bool:
    """Whether the request asks for a triage proposal: by its schema, or by the words of its system message."""
    if request.get("tools"):
        return False
    asked = [request.get("response_format"), *(m for m in request["messages"] if m.get("role") == "system")]
    return "suggestedPriority" in json.dumps(asked)


def propose(request: dict[str, Any]) -> Answer:
    """The proposal for the order in the last user message, as JSON text."""
    users = [m.get("content") for m in request["messages"] if m.get("role") == "user"]
    title, description = _order(users[-1] if users else "")
    words = f"{title}\n{description}"
    urgent = _URGENT.search(words) is not None
    priority = "high" if urgent else "low" if _ROUTINE.search(words) else "medium"
    proposal = {
        "summary": _summary(title, description),
        "suggestedPriority": priority,
        "flagForDispatcher": urgent,
    }
    return Answer(text=json.dumps(proposal, ensure_ascii=False))


def _order(content: Any) -> tuple[str, str]:
    text = content if isinstance(content, str) else ""
    try:
        order, _ = json.JSONDecoder().raw_decode(text[max(text.find("{"), 0) :])
    except (ValueError, RecursionError):
        return text, ""
    if not isinstance(order, dict):
        return text, ""
    title, description = order.get("title"), order.get("description")
    return (title if isinstance(title, str) else ""), (description if isinstance(description, str) else "")


def _summary(title: str, description: str) -> str:
    first = _SENTENCE_END.split(description.strip(), maxsplit=1)[0]
    summary = f"{title.strip()}: {first}" if title.strip() and first else title.strip() or first
    summary = " ".join(summary.split()) or "The order says nothing."
    return summary if len(summary) <= MAX_SUMMARY else summary[: MAX_SUMMARY - 1].rstrip() + "…"
