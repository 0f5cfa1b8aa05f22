"""Fragments to calls (D-9): what the recordings do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.calls import MAX_ARGUMENT_BYTES, MAX_CALLS, CallAssembler
from app.llm.parsing import AnswerStream, parse_completion, parse_usage
from app.llm.port import CallFault, CallRequested, ProviderUnavailable, StepDone, TextDelta, Usage


def fragment(
    arguments: Any = None, *, name: str | None = None, call_id: Any = None, index: Any = None
) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    outer = {key: value for key, value in (("id", call_id), ("index", index)) if value is not None}
    return {**outer, "type": "function", "function": function}


def assembled(*fragments: Any) -> tuple[list[tuple[str, dict[str, Any]]], list[CallFault]]:
    assembler = CallAssembler()
    for one in fragments:
        assembler.add_fragment(one)
    calls, faults = assembler.finish()
    return [(call.name, call.arguments) for call in calls], faults


def test_a_late_id_joins_the_call_that_began_without_one() -> None:
    """D-9: ids may come late."""
    calls, faults = assembled(fragment("", name="a", index=0), fragment('{"x": 1}', call_id="late", index=0))
    assert (calls, faults) == ([("a", {"x": 1})], [])


def test_an_id_wins_over_an_index_that_says_otherwise() -> None:
    """D-9: by id, then by index."""
    calls, _ = assembled(
        fragment("{", name="a", call_id="1", index=0),
        fragment("{", name="b", call_id="2", index=1),
        fragment('"x": 1}', call_id="1", index=1),
        fragment('"y": 2}', call_id="2", index=0),
    )
    assert calls == [("a", {"x": 1}), ("b", {"y": 2})]


def test_whole_calls_without_ids_that_are_all_numbered_zero_stay_apart() -> None:
    """D-9."""
    calls, faults = assembled(
        fragment('{"x": 1}', name="a", index=0),
        fragment('{"x": 2}', name="a", index=0),
        fragment("{}", name="b", index=0),
    )
    assert (calls, faults) == ([("a", {"x": 1}), ("a", {"x": 2}), ("b", {})], [])


def test_a_server_that_repeats_id_and_name_with_each_piece_makes_one_call() -> None:
    """D-9."""
    pieces = [fragment(piece, name="a", call_id="1", index=0) for piece in ("", '{"x"', ": 1", "}")]
    assert assembled(*pieces) == ([("a", {"x": 1})], [])


def test_a_piece_without_id_or_index_goes_on_with_the_only_call() -> None:
    """D-9: it can belong to nothing else."""
    assert assembled(fragment("", name="a", call_id="1"), fragment("{}"))[0] == [("a", {})]


def test_a_piece_that_could_belong_to_two_calls_is_a_fault_and_runs_neither_blank_call() -> None:
    """D-9: never attributed by guessing; a call whose arguments may be the stray ones does not run with none."""
    calls, faults = assembled(
        fragment('{"x": 1}', name="a", call_id="1"), fragment("", name="b", call_id="2"), fragment('{"y": 1}')
    )
    assert calls == [("a", {"x": 1})]
    assert len(faults) == 1
    assert faults[0].name == "b"


@pytest.mark.parametrize("broken", [None, "x", 7, [], {}, {"function": None}, {"function": {"arguments": "{}"}}])
def test_a_piece_that_is_no_call_at_all_is_a_fault(broken: Any) -> None:
    """D-9."""
    calls, faults = assembled(broken)
    assert calls == []
    assert len(faults) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        "[1]", "1", "null", '"a"', '{"a": 1} tail', '{"a": 1}{"b": 2}', '{"a": NaN}', '{"a": 1e400}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud800"}', '{"a": "\ud800"}', '{"a": "\\u0000"}', '{"a": 9223372036854775808}', "{'a': 1}",
        '{"a": ' + "[" * 40 + "]" * 40 + "}", '{"a": "' + "x" * MAX_ARGUMENT_BYTES + '"}',
        [1], 1, True, {"a": float("nan")}, {"a": float("inf")}, {"a": 2**63}, {"a": "\ud800"}, {"a": "\x00"},
    ],
)  # fmt: skip
def test_arguments_that_are_not_one_strict_object_are_a_fault(arguments: Any) -> None:
    """D-9, scenario 2.6."""
    calls, faults = assembled(fragment(arguments, name="a", call_id="1", index=0))
    assert calls == []
    assert [fault.name for fault in faults] == ["a"]
    assert faults[0].provider_id == "1"


def test_doubled_keys_in_an_object_in_place_of_text_are_a_fault() -> None:
    """D-9: the envelope's tolerance ends at the arguments."""
    answer = AnswerStream()
    chunk = b'data: {"choices": [{"delta": {"tool_calls": [{"id": "1", "function": {"name": "a", "arguments": '
    list(answer.feed(chunk + b'{"x": 1, "x": 2}}}]}, "finish_reason": "stop"}]}\n\n'))
    assert isinstance(next(iter(answer.end())), CallFault)


@pytest.mark.parametrize("name", ["", "  ", "x" * 200, "a\x00b", "a\ud800"])
def test_a_call_without_a_storable_name_is_a_fault(name: str) -> None:
    """D-9, scenario 2.6."""
    calls, faults = assembled(fragment("{}", name=name, call_id="1", index=0))
    assert calls == []
    faults[0].name.encode()
    assert "\x00" not in faults[0].name


@pytest.mark.parametrize("call_id", ["", None, 7, "x" * 500, "a\x00", "a\ud800"])
def test_an_id_that_is_missing_or_cannot_be_stored_is_replaced(call_id: Any) -> None:
    """D-9."""
    assembler = CallAssembler()
    assembler.add_fragment(fragment("{}", name="a", call_id=call_id, index=0))
    assembler.add_fragment(fragment("{}", name="b", index=1))
    calls, _ = assembler.finish()
    assert len({call.provider_id for call in calls}) == 2
    assert all(call.provider_id.startswith("call_") for call in calls)


def test_more_calls_than_the_limit_fail_the_step() -> None:
    """SEC-3."""
    with pytest.raises(ProviderUnavailable):
        assembled(*(fragment("{}", name="a", call_id=str(n), index=n) for n in range(MAX_CALLS + 1)))


def test_two_whole_calls_with_one_id_stay_two_calls_with_two_ids() -> None:
    """D-9, without streaming."""
    entries = [{"id": "1", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
    body = json.dumps({"choices": [{"message": {"content": None, "tool_calls": entries}}]})
    calls = parse_completion(body).calls
    assert [call.name for call in calls] == ["a", "b"]
    assert calls[0].provider_id != calls[1].provider_id


@pytest.mark.parametrize(
    "usage",
    [
        None, 5, {}, {"prompt_tokens": 5}, {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": 1.5, "completion_tokens": 2}, {"prompt_tokens": "1", "completion_tokens": 2},
        {"prompt_tokens": True, "completion_tokens": 2}, {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 10**12, "completion_tokens": 2},
    ],
)  # fmt: skip
def test_usage_that_is_no_count_is_no_usage(usage: Any) -> None:
    """D-10, scenario 3.1: then the reservation is charged."""
    assert parse_usage(usage) is None


def test_the_last_usage_that_is_not_null_counts() -> None:
    """D-10: some servers report running totals."""
    answer = AnswerStream()
    for usage in (
        '{"prompt_tokens": 9, "completion_tokens": 1}',
        '{"prompt_tokens": 9, "completion_tokens": 4}',
        "null",
    ):
        list(answer.feed(f'data: {{"choices": [], "usage": {usage}}}\n\n'.encode()))
    list(answer.feed(b"data: [DONE]\n\n"))
    assert list(answer.end()) == [StepDone(Usage(9, 4))]


def test_surrogate_halves_in_two_pieces_are_joined_and_lone_ones_are_shown() -> None:
    """Scenario 2.6: the run goes on, with text that can be stored."""
    answer = AnswerStream()
    pieces = ("a\\ud83d", "\\ude05b\\u0000", "c\\udc00", "d\\ud83d")
    found = "".join(
        delta.text
        for piece in pieces
        for delta in answer.feed(f'data: {{"choices": [{{"delta": {{"content": "{piece}"}}}}]}}\n\n'.encode())
    )
    list(answer.feed(b"data: [DONE]\n\n"))
    found += "".join(delta.text for delta in answer.end() if isinstance(delta, TextDelta))
    assert found == "a😅b\u2400c\ufffdd\ufffd"


def test_a_failed_stream_yields_no_call_before_it_fails() -> None:
    """D-9, COP-9: no call of a step that failed runs."""
    answer = AnswerStream()
    delta = {"tool_calls": [fragment("{}", name="a", call_id="1")]}
    chunk = f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode()
    assert not [delta for delta in answer.feed(chunk) if isinstance(delta, CallRequested)]
    with pytest.raises(ProviderUnavailable):
        list(answer.end())


@pytest.mark.parametrize(
    "data",
    ["{", "null", '"x"', "[]", '{"error": "x"}', '{"a": ' + "9" * 5000 + "", "[" * 100_000, '{"error": {"code": 1}}'],
)
def test_a_chunk_that_is_no_json_object_or_an_error_ends_the_step(data: str) -> None:
    """D-9, COP-9."""
    with pytest.raises(ProviderUnavailable):
        list(AnswerStream().feed(f"data: {data}\n\n".encode()))


_PIECES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["", "a", "b", None, 5]),
        "index": st.sampled_from([0, 1, -1, "0", None, True]),
        "function": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["x", "y", "", None, 3]),
                "arguments": st.sampled_from(["", "{", "}", "{}", '{"a": 1}', {}, {"k": 1}, [1], None, 7]),
            },
        ),
    },
)


@given(st.lists(_PIECES, max_size=8))
def test_whatever_pieces_come_each_outcome_has_its_own_id_and_each_call_a_name_and_an_object(pieces: list[Any]) -> None:
    """D-9."""
    assembler = CallAssembler()
    for piece in pieces:
        assembler.add_fragment(piece)
    calls, faults = assembler.finish()
    ids = [call.provider_id for call in calls] + [fault.provider_id for fault in faults]
    assert all(ids)
    assert len(ids) == len(set(ids))
    assert all(call.name and isinstance(call.arguments, dict) for call in calls)
    assert all(fault.reason for fault in faults)
    assert bool(ids) == bool(pieces)
