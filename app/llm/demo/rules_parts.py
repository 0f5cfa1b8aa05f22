"""Keyword rules for the demonstration inventory: look up stock, and reserve parts by the two calls of `request`."""

from __future__ import annotations

import json
import re
from typing import Any

from app.llm.demo.results import ToolResult
from app.llm.demo.script import Answer, call, say

REQUEST = "request"
_RESERVE = re.compile(
    r"\breserve\s+(\d{1,6}|an?|one|two|three|five|ten)\b\s*(?:pieces?\s+)?(?:of\s+)?(?:the\s+)?(.+)", re.IGNORECASE
)
_STOCK = re.compile(r"\b(?:in stock|stock|parts?|inventory|spares?)\b", re.I)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "five": 5, "ten": 10}
_STOP = frozenset(
    """
    which what how many much do we have are is there any the of in on our stock part parts inventory spare spares show
    me list find look up please for a an some left
    """.split()  # noqa: SIM905 (a list of words reads as words)
)
_SHOWN = 10


def parts_answer(text: str, results: list[ToolResult], offered: set[str]) -> Answer | None:
    """The next step for a request about parts; None where `text` is about something else, or nothing is connected."""
    if REQUEST not in offered:
        return None
    if match := _RESERVE.search(text):
        quantity = _NUMBERS.get(match[1].lower()) or int(match[1])
        return _reserve(quantity, _term(match[2]), [result for result in results if result.name == REQUEST])
    if _STOCK.search(text):
        return _look(_term(text), [result for result in results if result.name == REQUEST])
    return None


def _look(term: str, results: list[ToolResult]) -> Answer:
    if not results:
        return _search(term)
    if fault := _fault(results[-1]):
        return say(f"I could not look at the stock: {fault}")
    parts = _parts(results[-1])
    if not parts:
        return say(f"I found no part that matches “{term}”.")
    lines = [f"- **{part['name']}** ({part['sku']}): {part['stock']} in stock" for part in parts[:_SHOWN]]
    return say("\n".join(["From the parts inventory:", "", *lines]))


def _reserve(quantity: int, term: str, results: list[ToolResult]) -> Answer:
    """Look it up, propose, send what was approved, report."""
    if not results:
        return _search(term)
    last = results[-1]
    if fault := _fault(last):
        return say(f"Nothing was reserved: {fault}")
    if last.arguments.get("method") == "GET":
        parts = _parts(last)
        if not parts:
            return say(f"I found no part that matches “{term}”, so nothing was reserved.")
        body = {"sku": parts[0]["sku"], "quantity": quantity}
        asked = {"connection": "inventory", "method": "POST", "path": "/reservations", "body": body}
        return call(REQUEST, asked | {"intent": "write"})
    if last.arguments.get("intent") == "write":
        return call(REQUEST, last.arguments | {"intent": "confirmed_write"})
    return say(f"Reserved {quantity} of {last.arguments['body']['sku']}.")


def _search(term: str) -> Answer:
    asked = {"connection": "inventory", "method": "GET", "path": "/parts", "intent": "read"}
    return call(REQUEST, asked | ({"query": {"search": term}} if term else {}))


def _term(text: str) -> str:
    """The most telling word, without its plural: the inventory looks for a part of the name."""
    words = [word for word in re.findall(r"[\w-]+", text.lower()) if word not in _STOP and not word.isdigit()]
    longest = max(words, key=len, default="")
    return longest.removesuffix("s") if len(longest) > 3 else longest


def _parts(result: ToolResult) -> list[dict[str, Any]]:
    body = (result.data or {}).get("body")
    return [part for part in body if isinstance(part, dict)] if isinstance(body, list) else []


def _fault(result: ToolResult) -> str | None:
    """Why the call did not run; None when it did."""
    outcome = (result.data or {}).get("outcome", "executed")
    if outcome == "executed":
        return None
    told = (result.data or {}).get("result")
    if isinstance(told, dict):
        return str(told.get("message") or json.dumps(told))
    return str(told or outcome)
