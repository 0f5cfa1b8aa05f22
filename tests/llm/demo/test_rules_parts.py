"""The demo model's keyword rules for the parts inventory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.llm.demo.results import ToolResult
from app.llm.demo.rules_parts import parts_answer

SEAL = {"sku": "SEA-0118", "name": "Shaft seal", "stock": 42}


def _result(arguments: dict[str, Any], content: Any) -> ToolResult:
    text = json.dumps(content)
    return ToolResult("request", arguments, text, json.loads(text))


def _found(*parts: dict[str, Any]) -> ToolResult:
    return _result({"method": "GET"}, {"status": 200, "body": list(parts)})


def _asked(text: str, *results: ToolResult) -> Any:
    answer = parts_answer(text, list(results), {"request"})
    assert answer is not None
    return answer.calls[0].arguments if answer.calls else answer.text


@pytest.mark.parametrize(
    ("text", "term"),
    [("Which seals are in stock?", "seal"), ("how many filters do we have in stock", "filter"), ("show the parts", "")],
)
def test_a_question_about_stock_is_looked_up_and_told(text: str, term: str) -> None:
    asked = _asked(text)
    assert (asked["method"], asked["path"], asked.get("query", {}).get("search", "")) == ("GET", "/parts", term)
    assert "42 in stock" in _asked(text, _found(SEAL))
    assert "no part" in _asked(text, _found())


def test_a_reservation_is_looked_up_proposed_confirmed_and_told() -> None:
    """T-10"""
    text = "please reserve ten of the seals"
    assert _asked(text)["query"] == {"search": "seal"}
    proposed = _asked(text, _found(SEAL))
    assert (proposed["intent"], proposed["body"]) == ("write", {"sku": "SEA-0118", "quantity": 10})
    approved = _result(proposed, {"outcome": "executed", "result": {"preview": {}, "approved": True}})
    confirmed = _asked(text, _found(SEAL), approved)
    assert confirmed == proposed | {"intent": "confirmed_write"}
    done = _result(confirmed, {"outcome": "executed", "result": {"status": 201}})
    assert _asked(text, _found(SEAL), approved, done) == "Reserved 10 of SEA-0118."


def test_what_was_refused_is_told_in_its_own_words() -> None:
    denied = _result({"method": "POST"}, {"outcome": "error", "result": {"message": "Threshold escalation: too many."}})
    assert "Threshold escalation" in _asked("reserve 11 seals", _found(SEAL), denied)
    rejected = _result({"method": "POST"}, {"outcome": "rejected", "result": "The person rejected this."})
    assert "rejected" in _asked("reserve 11 seals", _found(SEAL), rejected)


def test_without_a_connection_and_about_other_things_it_says_nothing() -> None:
    assert parts_answer("which seals are in stock", [], {"list_my_work_orders"}) is None
    assert parts_answer("show my orders", [], {"request"}) is None
