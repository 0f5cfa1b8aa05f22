"""The model's answer read strictly: one JSON object with exactly three fields, code fences tolerated (SEC-3, D-9)."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from pydantic import ValidationError

from app.core.strict_json import StrictJsonError, parse_object
from app.llm.port import Completion
from app.triage.errors import InvalidProposal
from app.triage.schemas import SUMMARY_MAX, Proposal
from app.work_orders.schemas import PRIORITIES

MAX_BYTES = 16_384
MAX_DEPTH = 4
_FENCED = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL | re.IGNORECASE)
_BREAKS = re.compile(r"[\t\n\r\v\f\x85\u2028\u2029]+")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "summary": {"type": "string", "description": "One or two plain sentences for the dispatcher."},
        "suggestedPriority": {"type": "string", "enum": list(PRIORITIES)},
        "flagForDispatcher": {"type": "boolean", "description": "Whether a dispatcher should look at it soon."},
    },
    "required": ["summary", "suggestedPriority", "flagForDispatcher"],
    "additionalProperties": False,
}
"""What is asked of providers that can be held to a schema (D-25). The parse below stays, whatever they promise."""


def parse_proposal(answer: Completion) -> Proposal:
    """The proposal in `answer`. Raises `InvalidProposal`, whose fault can be told to the model."""
    if answer.calls or answer.faults:
        raise InvalidProposal("The answer asks for a tool; there are none. Answer with the JSON object alone.")
    try:
        values = parse_object(_unfenced(answer.text), max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, allow_nul=True)
    except StrictJsonError as error:
        raise InvalidProposal(f"The answer must be one JSON object and nothing else. {error.reason}") from None
    if isinstance(values.get("summary"), str):
        values["summary"] = shown(values["summary"])
    try:
        return Proposal.model_validate(values)
    except ValidationError as error:
        raise InvalidProposal(_faults(error)) from None


def shown(text: str) -> str:
    """`text` on one line, NFC; what hides or turns text around stands there as `[U+202E]` (D-8)."""
    line = _BREAKS.sub(" ", unicodedata.normalize("NFC", text)).strip()
    if line.isascii() and line.isprintable():
        return line
    return "".join(f"[U+{ord(char):04X}]" if unicodedata.category(char) in ("Cc", "Cf") else char for char in line)


def _unfenced(text: str) -> str:
    stripped = text.strip()
    fenced = _FENCED.match(stripped)
    return fenced.group(1) if fenced else stripped


def _faults(error: ValidationError) -> str:
    """Fields and rules, never values; names that the model made up are not repeated."""
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    if any(fault["type"] == "extra_forbidden" for fault in faults):
        return "The object has a field nobody asked for. Give summary, suggestedPriority and flagForDispatcher only."
    names = sorted({str(fault["loc"][0]) for fault in faults if fault["loc"]})
    rules = (
        f"summary is text of 1 to {SUMMARY_MAX} characters, suggestedPriority one of {', '.join(PRIORITIES)},"
        " flagForDispatcher true or false"
    )
    return f"Missing or not valid: {', '.join(names)}. The rule: {rules}."
