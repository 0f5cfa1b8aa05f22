"""Keyword rules for the copilot: reads before it writes, writes at most one order a run, and reports the outcome."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from app.llm.demo.intents import MAX_SEARCH, Intent, parse_intent
from app.llm.demo.results import (
    ToolResult,
    best_match,
    facts_in_words,
    list_in_words,
    outcome_in_words,
    run_results,
    stepped,
    summary_in_words,
)
from app.llm.demo.rules_parts import parts_answer
from app.llm.demo.script import Answer, call, say

WRITES = frozenset({"create_work_order", "update_work_order", "delete_work_order"})
GREETING = (
    "Hello! I am the desk's demo model: keyword rules, no language model. I can list, search and summarise your work"
    " orders, and log, change or delete one, always after you approve it."
)
HELP = (
    "As a demo, I know a few requests. Try “show my pending orders”, “find pump”, “log a work order to check the"
    " boiler”, “raise the priority of the pump order to high”, “close the pump order”, “delete the pump order”,"
    " or “summarise my orders”."
)
UNKNOWN = f"I did not understand that: I am a demo with keyword rules, no language model. {HELP}"
_VIEWED = re.compile(r"looking at work order ([0-9a-fA-F]{24})(?:: *(.*))?")
_Reader = tuple[str, Callable[[ToolResult], str]]
_READERS: dict[str, _Reader] = {
    "summarise": ("list_my_work_orders", summary_in_words),
    "list": ("list_my_work_orders", lambda r: list_in_words(r, "work orders")),
    "search": ("search_my_work_orders", lambda r: list_in_words(r, "matching work orders")),
    "profile": ("get_profile", facts_in_words),
    "all_orders": ("admin_list_work_orders", lambda r: list_in_words(r, "work orders")),
    "users": ("admin_list_users", lambda r: list_in_words(r, "users")),
    "metrics": ("admin_metrics", facts_in_words),
}


def answer(request: dict[str, Any]) -> Answer:
    """The next step of the conversation in `request` (an OpenAI chat request)."""
    messages = request["messages"]
    offered = {tool["function"]["name"] for tool in request.get("tools") or ()}
    results = run_results(messages)
    if results and results[-1].name in WRITES:
        return say(outcome_in_words(results[-1]))
    said = _last_user_text(messages)
    if parts := parts_answer(said, results, offered):
        return parts
    intent = parse_intent(said)
    if intent.kind in _READERS:
        return _read(intent, results, offered)
    if intent.kind == "create":
        return _create(intent, offered)
    if intent.kind in ("update", "delete"):
        return _write(intent, results, offered, _viewed(messages))
    return say({"greet": GREETING, "help": HELP}.get(intent.kind, UNKNOWN))


def _read(intent: Intent, results: list[ToolResult], offered: set[str]) -> Answer:
    tool, in_words = _READERS[intent.kind]
    if intent.kind == "search" and not intent.search:
        return say("What should I search for? Give me a word of the title.")
    if results:
        failure = results[-1].failure
        return say(f"I could not read that: {failure}" if failure else in_words(results[-1]))
    if tool not in offered:
        return say("I have no tool for that here; your role may not include it.")
    return call(tool, {"search": intent.search} if intent.kind == "search" else intent.changes)


def _create(intent: Intent, offered: set[str]) -> Answer:
    if "create_work_order" not in offered:
        return _cannot_write()
    if len(intent.changes.get("title", "")) < 3:
        return say("What should the order be called? Say, for instance: log a work order to check the boiler.")
    return call("create_work_order", dict(intent.changes))


def _write(intent: Intent, results: list[ToolResult], offered: set[str], viewed: tuple[str, str] | None) -> Answer:
    tool = f"{intent.kind}_work_order"
    if tool not in offered:
        return _cannot_write()
    wanted = None if intent.words else viewed
    if order := _target(results, intent.words, wanted):
        return _change(tool, intent, order)
    usable = offered - {result.name for result in results}
    if read := _next_read(intent.words, wanted, usable):
        return read
    if results and (failure := results[-1].failure):
        return say(f"I could not read your orders: {failure}")
    named = f" that matches “{' '.join(intent.words)}”" if intent.words else ""
    return say(f"I found no work order{named}, so there is nothing to change.")


def _change(tool: str, intent: Intent, order: dict[str, Any]) -> Answer:
    if intent.kind == "delete":
        return call(tool, {"id": order["id"]})
    changes = dict(intent.changes)
    if intent.step:
        changes["priority"] = stepped(order.get("priority"), intent.step)
    if all(order.get(key) == value for key, value in changes.items()):
        said = " and ".join(f"{key} {value.replace('_', ' ')}" for key, value in changes.items())
        return say(f"“{order.get('title')}” already has {said}; there is nothing to change.")
    return call(tool, {"id": order["id"], **changes})


def _target(results: list[ToolResult], words: tuple[str, ...], viewed: tuple[str, str] | None) -> dict[str, Any] | None:
    items = [item for result in results for item in result.items if item.get("id")]
    if viewed:
        return next((item for item in items if item["id"] == viewed[0]), None)
    return best_match(items, words)


def _next_read(words: tuple[str, ...], viewed: tuple[str, str] | None, usable: set[str]) -> Answer | None:
    """A search by the most telling word, then the list, then (an admin) everyone's list."""
    term = viewed[1] if viewed else max(words, key=len, default="")
    arguments = {"search_my_work_orders": {"search": term[:MAX_SEARCH]}} if term else {}
    order = ("search_my_work_orders", "list_my_work_orders", "admin_list_work_orders")
    names = [name for name in order if name in usable and (term or name != "search_my_work_orders")]
    return call(names[0], arguments.get(names[0], {})) if names else None


def _cannot_write() -> Answer:
    return say("I cannot change work orders here: no tool for it is on offer, so your role may only read.")


def _viewed(messages: list[dict[str, Any]]) -> tuple[str, str] | None:
    """Id and title of the order that the person is looking at, as the system message says."""
    system = "\n".join(str(m.get("content")) for m in messages if m.get("role") == "system")
    match = _VIEWED.search(system)
    return (match[1], (match[2] or "").strip(' ."“”')) if match else None


def _last_user_text(messages: list[dict[str, Any]]) -> str:
    return next((str(m.get("content") or "") for m in reversed(messages) if m.get("role") == "user"), "")
