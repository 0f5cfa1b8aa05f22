"""What cards call a call: its kind, the question, the button, its title and state in words (COP-7)."""

from __future__ import annotations

import json
from typing import Any, Literal, Protocol

from app.copilot.dispatch import DENIED, REVIEW
from app.copilot.view import UNKNOWN_TOOL
from app.core.unseen import revealed
from app.runs.models import AgentToolCall

Kind = Literal["create", "update", "delete", "request", "run"]

DESK_WRITES: frozenset[Kind] = frozenset({"create", "update", "delete"})
"""What changes a work order, and can be undone."""

PREVIEW = "write"
"""The intent of a request that is only shown: the copilot repeats it once it is approved (T-10)."""

_KINDS: dict[str, Kind] = {
    "create_work_order": "create",
    "update_work_order": "update",
    "delete_work_order": "delete",
    "request": "request",
}
_QUESTIONS: dict[Kind, str] = {
    "create": "Create this work order?",
    "update": "Change this work order?",
    "delete": "Delete this work order?",
    "request": "Send this request?",
    "run": "Run this tool?",
}
APPROVE: dict[Kind, str] = {
    "create": "Create work order",
    "update": "Approve change",
    "delete": "Approve deletion",
    "request": "Approve request",
    "run": "Run",
}
_NOUNS: dict[Kind, str] = {"create": "New work order", "update": "Change", "delete": "Deletion"}
_READ_TITLES = {
    "list_my_work_orders": "Looked through your work orders",
    "search_my_work_orders": "Searched your work orders",
    "get_profile": "Looked at your profile",
    "admin_list_work_orders": "Looked through everyone’s work orders",
    "admin_list_users": "Looked through the people of this desk",
    "admin_metrics": "Counted people and work orders",
}
_STATES = {
    "approved": "Running…",
    "executed": "Done",
    "error": "Did not work",
    "blocked": "Not allowed",
    "rejected": "Rejected",
    "expired": "Time ran out",
    "stale": "Out of date",
    "aborted": "Stopped",
    "pending": "Waiting",
}
_REFUSALS = {DENIED: "Not allowed", REVIEW: "For a dispatcher’s review"}
_SENT_LATER = "After approval the copilot repeats the call once, and only then is it sent. Nothing is sent now."
_SENT_AT_ONCE = "Once it is approved it is sent, one single time."
_NAME_SHOWN = 80


class Asked(Protocol):
    """What a call and a kept request have in common: the frozen thing itself."""

    @property
    def tool(self) -> str: ...

    @property
    def args(self) -> dict[str, Any] | None: ...

    @property
    def pre_image(self) -> dict[str, Any] | None: ...

    @property
    def after_diff(self) -> dict[str, Any] | None: ...


def kind_of(tool: str) -> Kind:
    return _KINDS.get(tool, "run")


def question_of(kind: Kind, decision: dict[str, Any]) -> str:
    """What the person is asked: a tool's own words, where its author gave them (T-5)."""
    prompt = decision.get("prompt")
    return revealed(prompt) if kind == "run" and prompt else _QUESTIONS[kind]


def note_of(kind: Kind, asked: Asked) -> str:
    """What an approval of it brings about, where that is not plain."""
    if kind != "request":
        return ""
    return _SENT_LATER if is_preview(asked) else _SENT_AT_ONCE


def is_preview(asked: Asked) -> bool:
    return kind_of(asked.tool) == "request" and (asked.args or {}).get("intent") == PREVIEW


def subject_of(asked: Asked) -> str:
    """What a call is about: the title of the order, the endpoint, or the tool in words."""
    kind, args = kind_of(asked.tool), asked.args or {}
    if kind == "request":
        return f"{_part(args, 'connection')}: {_endpoint(args)}"
    if kind == "run":
        return in_words(asked.tool)
    title = (asked.pre_image or {}).get("title") or args.get("title")
    return revealed(str(title)) if title else "a work order"


def noun_of(asked: Asked) -> str:
    """The call as a thing that can be asked for: `Change: Pump leaks`, `Request to inventory: POST /reservations`."""
    kind, subject = kind_of(asked.tool), subject_of(asked)
    if kind == "run":
        return subject
    if kind == "request":
        return f"Request to {subject}"
    return f"{_NOUNS[kind]} of a work order" if subject == "a work order" else f"{_NOUNS[kind]}: {subject}"


def title_of(call: AgentToolCall) -> str:
    """The call as its card in the conversation names it, once it is over."""
    kind, args = kind_of(call.tool), call.args or {}
    if call.code == UNKNOWN_TOOL:
        return "Tried a tool that is not there"
    if kind == "request" and args.get("method") == "GET":
        return f"Asked {subject_of(call)}"
    if kind == "request" and call.outcome == "executed" and not is_preview(call):
        return f"Sent {_endpoint(args)} to {_part(args, 'connection')}"
    return _READ_TITLES.get(call.tool) or noun_of(call)


def running_title(tool: str) -> str:
    """The call as it is named while nothing is known of it yet."""
    kind = kind_of(tool)
    if kind == "request":
        return "Talks to another system"
    return _READ_TITLES.get(tool, "Drafting a change" if kind in DESK_WRITES else in_words(tool))


def state_of(call: AgentToolCall) -> str:
    """How it ended, in a word or two."""
    if call.outcome == "executed":
        if call.review_id is not None:
            return "Run by a dispatcher"
        if is_preview(call):
            return "Approved"
        return _found(call) or _STATES["executed"]
    return _REFUSALS.get(call.code or "") or _STATES[call.outcome]


def waits_for_review(call: AgentToolCall) -> bool:
    """Whether the gate kept it for a dispatcher (T-8)."""
    return call.code == REVIEW


def in_words(name: str) -> str:
    """`check_stock` → `Check stock`."""
    words = revealed(name.replace("_", " ").replace("-", " ").strip()[:_NAME_SHOWN])
    return words[:1].upper() + words[1:]


def pretty(value: Any) -> str:
    """`value` as indented JSON in which nothing is unseen (D-8)."""
    if value is None:
        return ""
    return revealed(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str))


def _found(call: AgentToolCall) -> str:
    if not isinstance(call.result, str):
        return ""
    try:
        value = json.loads(call.result)
    except ValueError:
        return ""
    return f"{len(value)} found" if isinstance(value, list) else ""


def _endpoint(args: dict[str, Any]) -> str:
    return f"{_part(args, 'method')} {_part(args, 'path')}"


def _part(args: dict[str, Any], name: str) -> str:
    return revealed(str(args.get(name, ""))[:300]) or "?"
