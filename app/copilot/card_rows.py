"""The frozen values of a call, row by row: from what to what for an order, part by part for all else (COP-7, D-8)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from app.copilot.card_words import Asked, kind_of
from app.copilot.diff import visible, word_diff
from app.core.unseen import revealed
from app.tools.words import value_word
from app.work_orders.schemas import FIELDS

_LABELS = {"title": "Title", "description": "Description", "priority": "Priority", "status": "Status"}
_PARTS = {"connection": "Connection", "method": "Method", "path": "Path", "query": "Query", "body": "Body"}


@dataclass(frozen=True, slots=True)
class Row:
    """One field of the comparison; the HTML is safe. `plain`: a value that is compared with nothing."""

    label: str
    before_html: Markup | None
    after_html: Markup | None
    state: Literal["changed", "same", "added", "removed", "plain"]


def rows_of(asked: Asked) -> list[Row]:
    """Everything that would change, or be sent, or be handed to the tool."""
    kind = kind_of(asked.tool)
    if kind == "request":
        given = asked.args or {}
        return [Row(label, None, _value(given[name]), "plain") for name, label in _PARTS.items() if name in given]
    if kind == "run":
        named = [Row(revealed(name), None, _value(value), "plain") for name, value in (asked.args or {}).items()]
        return named or [Row("Arguments", None, Markup("none"), "plain")]
    before, after = asked.pre_image or {}, asked.after_diff or {}
    if kind == "create":
        return [Row(_LABELS[name], None, _word(after.get(name)), "added") for name in FIELDS if name in after]
    if kind == "delete":
        return [Row(_LABELS[name], _word(before.get(name)), None, "removed") for name in FIELDS]
    changed = [_changed(name, before.get(name), after[name]) for name in FIELDS if name in after]
    same = [Row(_LABELS[name], _word(before.get(name)), None, "same") for name in FIELDS if name not in after]
    return changed + same


def _changed(name: str, before: object, after: object) -> Row:
    old, new = word_diff(_text(before), _text(after))
    return Row(_LABELS[name], old if _text(before) else None, new if _text(after) else None, "changed")


def _text(value: object) -> str:
    return "" if value is None or value == "" else value_word(value)


def _word(value: object) -> Markup | None:
    return visible(_text(value)) if _text(value) else None


def _value(value: Any) -> Markup:
    """Text as it is, all else as JSON, whole."""
    if isinstance(value, str):
        return visible(value) if value else Markup("(empty)")
    text = visible(json.dumps(value, ensure_ascii=False, indent=2, default=str))
    return Markup('<code class="json">{}</code>').format(text)
