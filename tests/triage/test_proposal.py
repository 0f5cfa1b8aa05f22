"""The strict parse of a proposal, and the schema that is asked for (AGT-4, D-9, D-25, SEC-3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.port import CallFault, CallRequested, Completion
from app.triage.errors import InvalidProposal
from app.triage.proposal import SCHEMA, parse_proposal, shown
from app.triage.schemas import SUMMARY_MAX, Proposal
from tests.triage.house import proposal

GOOD = json.dumps(proposal())


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"```JSON\r\n{GOOD}\r\n```",
        f"\n```json\n{GOOD}```  ",
    ],
)
def test_one_object_is_read_with_or_without_a_code_fence(text: str) -> None:
    """AGT-4."""
    parsed = parse_proposal(Completion(text))
    assert (parsed.suggested_priority, parsed.flag_for_dispatcher) == ("medium", False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        f"[{GOOD}]",
        f"Here you are: {GOOD}",
        f"{GOOD} {GOOD}",
        f"```json\n{GOOD}\n``` and more",
        '{"summary": "a", "summary": "b", "suggestedPriority": "low", "flagForDispatcher": false}',
        GOOD.replace("false", "NaN"),
        json.dumps(proposal(status="done")),
        json.dumps(proposal(owner="x")),
        json.dumps(proposal(suggestedPriority="HIGH")),
        json.dumps(proposal(suggestedPriority=2)),
        json.dumps(proposal(flagForDispatcher="false")),
        json.dumps(proposal(flagForDispatcher=0)),
        json.dumps(proposal(summary="")),
        json.dumps(proposal(summary=" \n ")),
        json.dumps(proposal(summary=None)),
        json.dumps(proposal(summary="x" * (SUMMARY_MAX + 1))),
        json.dumps({"summary": "a"}),
        json.dumps(proposal(summary="\ud800")),
        "{" * 5_000,
        json.dumps(proposal(summary={"a": {"b": {"c": {"d": 1}}}})),
        "x" * 20_000,
    ],
)
def test_everything_else_is_refused_without_a_word_of_it(text: str) -> None:
    """D-9, SEC-1, SEC-3: never repaired; the fault quotes nothing."""
    with pytest.raises(InvalidProposal) as refused:
        parse_proposal(Completion(text))
    assert len(refused.value.fault) < 400
    assert "Here you are" not in refused.value.fault


@pytest.mark.parametrize(
    "answer",
    [
        Completion(GOOD, calls=(CallRequested("1", "update_work_order", {}),)),
        Completion(GOOD, faults=(CallFault("1", "", "no name"),)),
    ],
)
def test_an_answer_with_a_tool_call_is_refused(answer: Completion) -> None:
    """D-16: none was offered."""
    with pytest.raises(InvalidProposal):
        parse_proposal(answer)


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("two\nlines\tand\r\n\u2028more", "two lines and more"),
        ("turned \u202eround", "turned [U+202E]round"),
        ("zero\u200bwidth", "zero[U+200B]width"),
        ("bell\x07 nul\x00", "bell[U+0007] nul[U+0000]"),
        ("cafe\u0301", "café"),
        ("Größe 30°, 日本語 🙂", "Größe 30°, 日本語 🙂"),
    ],
)
def test_what_hides_in_a_summary_is_shown(written: str, seen: str) -> None:
    """D-8, scenario 2.6."""
    assert shown(written) == seen
    assert parse_proposal(Completion(json.dumps(proposal(summary=written)))).summary == seen


@given(st.text(), st.sampled_from(["", "```json\n", "{"]))
def test_any_text_is_a_proposal_or_a_fault(text: str, before: str) -> None:
    """SEC-3: nothing else comes out, whatever goes in."""
    try:
        assert isinstance(parse_proposal(Completion(before + text)), Proposal)
    except InvalidProposal:
        return


def test_the_schema_asks_for_exactly_what_the_parse_takes() -> None:
    """D-25: three fields, all required, none beside; no status."""
    names = {info.alias for info in Proposal.model_fields.values()}
    asked: dict[str, Any] = SCHEMA["properties"]
    assert set(asked) == set(SCHEMA["required"]) == names == {"summary", "suggestedPriority", "flagForDispatcher"}
    assert SCHEMA["additionalProperties"] is False
