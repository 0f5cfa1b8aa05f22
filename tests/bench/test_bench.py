"""Every part of `make bench` runs from end to end; what it measures is not judged here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.measure import by_turns, percentile, ratio
from bench.parts import copilot, desk, triage
from bench.plan import Plan, tiny
from bench.report import Goal, Row, section, write
from bench.stage import BenchError, Stage
from tests.services import shared_services

Part = Callable[[Stage, Plan], list[Row]]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return replace(tiny(tmp_path), frameworks=False)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Stage]:
    with shared_services() as (mongodb_uri, redis_url):
        yield Stage(tmp_path, mongodb_uri, redis_url)


def test_the_desk_part_measures_every_row_or_asks_for_wrk(at: Stage, plan: Plan) -> None:
    """003 item 11: lists, page, create, update, growth and search; without wrk one plain line."""
    if shutil.which("wrk") is None:
        with pytest.raises(BenchError, match="wrk was not found"):
            desk.run(at, plan)
        return
    rows = desk.run(at, plan)
    assert [row.what.partition(",")[0] for row in rows].count("search") == 5
    assert all(row.figure > 0 for row in rows)


@pytest.mark.parametrize(
    ("part", "first", "last"),
    [
        (copilot.run, "total time", "staged write of the desk"),
        (triage.run, "outbox over bare claims", "pick-up delay p99"),
    ],
)
def test_a_part_measures_every_row(part: Part, first: str, last: str, at: Stage, plan: Plan) -> None:
    """004 item 12, 005 item 11."""
    rows = part(at, plan)
    assert rows[0].what.startswith(first)
    assert rows[-1].what.startswith(last)
    assert len(rows) >= 4
    assert all(row.figure > 0 for row in rows)


def test_a_part_that_is_measured_anew_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    """`results.md` has one table per part."""
    results = tmp_path / "results.md"
    for part, figure in (("triage", 0.4), ("desk", 0.5), ("desk", 0.9)):
        write(results, part, section(part, [Row("a thing", figure, goal=Goal("≥", 0.8))], "tiny"))
    text = results.read_text()
    assert text.index("## desk") < text.index("## triage")
    assert "| a thing | 0.90× | ≥ 0.8 | yes |  |" in text
    assert "| a thing | 0.40× | ≥ 0.8 | **no** |  |" in text
    assert "0.50×" not in text


def test_sides_are_sampled_by_turns_and_compared_round_by_round() -> None:
    """A disturbance that lasts a round disturbs both sides of it."""
    order: list[str] = []

    def side(name: str, factor: float) -> Callable[[], float]:
        def sample() -> float:
            order.append(name)
            return factor * (len(order) + 1) // 2

        return sample

    ours, theirs = by_turns(3, side("a", 2), side("b", 1))
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert ratio([2, 20, 3], [1, 10, 3]) == 2
    assert len(ours) == len(theirs) == 3


def test_a_percentile_is_a_value_that_was_measured() -> None:
    """p99 of few values is the largest."""
    assert percentile([3, 1, 2], 50) == 2
    assert percentile([3, 1, 2], 99) == 3
