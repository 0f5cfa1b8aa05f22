"""Reservations (D-10)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.port import CallRef, ChatMessage, ChatRequest, Prices, ToolSpec, Usage
from app.llm.pricing import estimate_input, estimate_text, reservation_usd

PRICES = Prices(0.15, 0.60)
PLAIN = ChatRequest((ChatMessage("user", "How many orders are open?"),), 100)


@given(st.text())
def test_a_text_counts_a_token_for_every_three_bytes_rounded_up(text: str) -> None:
    """D-10."""
    assert estimate_text(text) == math.ceil(len(text.encode("utf-8", "surrogatepass")) / 3)


def test_everything_that_is_sent_raises_the_estimate() -> None:
    """D-10: messages, calls, tool results, tools and schema."""
    messages = PLAIN.messages
    richer = [
        ChatRequest((*messages, ChatMessage("assistant", "")), 100),
        ChatRequest((*messages, ChatMessage("assistant", "", calls=(CallRef("a", "b", "{}"),))), 100),
        ChatRequest(
            (*messages, ChatMessage("assistant", "", calls=(CallRef("a", "b", '{"long": "arguments"}'),))), 100
        ),
    ]
    assert [estimate_input(r) for r in (PLAIN, *richer)] == sorted({estimate_input(r) for r in (PLAIN, *richer)})
    tools = (ToolSpec("list", "Lists", {"type": "object"}),)
    assert estimate_input(ChatRequest(messages, 100, tools)) > estimate_input(PLAIN)
    assert estimate_input(ChatRequest(messages, 100, schema={"type": "object"})) > estimate_input(PLAIN)


def test_a_reservation_is_the_estimated_prompt_and_the_whole_answer() -> None:
    """D-10: 003 §4.7's price table."""
    expected = PRICES.cost(Usage(estimate_input(PLAIN), 100))
    assert reservation_usd(PLAIN, PRICES) == pytest.approx(expected)
    assert reservation_usd(PLAIN, PRICES) > 100 * 0.60 / 1_000_000


def test_english_prose_is_estimated_above_what_tokenisers_count() -> None:
    """D-10: about four bytes a token in practice."""
    prose = "The pump in the basement of building seven drips and the floor is wet. " * 20
    assert estimate_text(prose) > len(prose.split()) * 1.3
