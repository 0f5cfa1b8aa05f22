"""Reading tool results as a model would, and putting them into words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MAX_SHOWN = 10
_PRIORITIES = ("low", "medium", "high")
_STATUS_WORDS = {"pending": "pending", "in_progress": "in progress", "done": "done"}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One call of this run and what came back. `data` is None where the content is not a JSON object."""

    name: str
    arguments: dict[str, Any]
    content: str
    data: dict[str, Any] | None

    @property
    def payload(self) -> dict[str, Any]:
        """What the tool gave, also where it is wrapped with its outcome."""
        data = self.data or {}
        inner = data.get("result")
        return inner if isinstance(inner, dict) else data

    @property
    def items(self) -> list[dict[str, Any]]:
        """The orders of a list, as they came (newest first)."""
        items = self.payload.get("items")
        return [i for i in items if isinstance(i, dict)] if isinstance(items, list) else []

    @property
    def failure(self) -> str | None:
        """The message of an error result."""
        data = self.data or {}
        error = data.get("error")
        if isinstance(error, dict):
            return str(error.get("message") or error.get("code") or "it failed")
        if error or data.get("code") or data.get("outcome") in ("error", "blocked"):
            return str(data.get("message") or data.get("reason") or error or data.get("code") or "it failed")
        return None


def run_results(messages: list[dict[str, Any]]) -> list[ToolResult]:
    """The tool results since the last user message: those of this run."""
    start = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1) + 1
    asked: dict[str, tuple[str, dict[str, Any]]] = {}
    found = []
    for message in messages[start:]:
        for call in message.get("tool_calls") or ():
            asked[call["id"]] = call["function"]["name"], _object(call["function"]["arguments"]) or {}
        if message.get("role") == "tool" and message.get("tool_call_id") in asked:
            name, arguments = asked[message["tool_call_id"]]
            content = str(message.get("content") or "")
            found.append(ToolResult(name, arguments, content, _data(content)))
    return found


def _data(content: str) -> dict[str, Any] | None:
    """A result as an object; a bare list of orders is taken as `items`."""
    try:
        value = json.loads(content)
    except ValueError:
        return None
    if isinstance(value, list):
        return {"items": value}
    return value if isinstance(value, dict) else None


def best_match(items: list[dict[str, Any]], words: tuple[str, ...]) -> dict[str, Any] | None:
    """The order whose title holds most of `words`, the newest of equals; without words the newest."""
    scores = [sum(word in str(item.get("title", "")).lower() for word in words) for item in items]
    best = max(range(len(items)), key=lambda i: (scores[i], -i), default=None)
    return items[best] if best is not None and (not words or scores[best]) else None


def stepped(priority: Any, step: str) -> str:
    """The priority above or below."""
    at = _PRIORITIES.index(priority) if priority in _PRIORITIES else 1
    return _PRIORITIES[min(2, at + 1) if step == "up" else max(0, at - 1)]


def list_in_words(result: ToolResult, what: str) -> str:
    """A short Markdown list."""
    items = result.items
    if not items:
        return f"I found no {what}."
    total = result.payload.get("total")
    count = total if isinstance(total, int) and total > len(items) else len(items)
    head = f"I found {count} {what if count != 1 else what.removesuffix('s')}:"
    more = [f"\n…and {count - MAX_SHOWN} more."] if count > MAX_SHOWN else []
    return "\n".join([head, "", *(_line(item) for item in items[:MAX_SHOWN]), *more])


def summary_in_words(result: ToolResult) -> str:
    """Counts by status, and the urgent ones by name."""
    items = result.items
    if not items:
        return "You have no work orders."
    counts = {key: sum(item.get("status") == key for item in items) for key in _STATUS_WORDS}
    parts = ", ".join(f"{count} {_STATUS_WORDS[key]}" for key, count in counts.items() if count)
    urgent = [_title(i) for i in items if i.get("priority") == "high" and i.get("status") != "done"]
    tail = (
        f" High priority and not done: {'; '.join(urgent[:MAX_SHOWN])}." if urgent else " None open is high priority."
    )
    return f"Of your {len(items)} latest work orders: {parts}.{tail}"


def facts_in_words(result: ToolResult) -> str:
    """Flat facts (a profile, the metrics) as a Markdown list."""
    if result.data is None:
        return "I could not read the answer."
    lines = [f"- {key}: {value}" for key, value in result.payload.items() if isinstance(value, (str, int, float, bool))]
    return "\n".join(["Here is what I found:", "", *lines[:MAX_SHOWN]]) if lines else "There is nothing to show."


def outcome_in_words(result: ToolResult) -> str:
    """One closing sentence for a write, by how it ended (scenarios 1.2, 1.6, 2.8)."""
    data = result.data or {}
    outcome = str(data.get("outcome") or data.get("status") or "")
    if outcome == "rejected":
        reason = data.get("reason") or data.get("message")
        return f"You declined this, so nothing was changed.{f' Your reason: {reason}' if reason else ''}"
    if outcome == "expired":
        return "Nobody decided in time, so the request expired and nothing was changed. Ask again if you still want it."
    if outcome == "stale":
        return "The order was changed meanwhile, so nothing was done. Look at it again and tell me what you want."
    if outcome == "aborted":
        return "This was stopped, so nothing was changed."
    if failure := result.failure:
        return f"That did not work, and nothing was changed: {failure}"
    return _done(result)


def _done(result: ToolResult) -> str:
    order = result.payload
    title = _title({"title": order.get("title") or result.arguments.get("title") or "the order"})
    if result.name == "create_work_order":
        return f"Done: I logged {title}."
    if result.name == "delete_work_order":
        return f"Done: {title if order.get('title') else 'the order'} is deleted."
    changes = [(key, value) for key, value in result.arguments.items() if key != "id"]
    said = ", ".join(f"{key} is now {str(value).replace('_', ' ')}" for key, value in changes)
    return f"Done: {title}: {said}." if said else f"Done: {title} is updated."


def _line(item: dict[str, Any]) -> str:
    if "title" in item:
        status = _STATUS_WORDS.get(str(item.get("status")), str(item.get("status")))
        return f"- {_title(item)}: {status}, {item.get('priority')} priority"
    return f"- {item.get('name') or item.get('email') or 'entry'}{_in_brackets(item.get('role'))}"


def _in_brackets(value: Any) -> str:
    return f" ({value})" if value else ""


def _title(item: dict[str, Any]) -> str:
    return f"“{item.get('title')}”"


def _object(text: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
