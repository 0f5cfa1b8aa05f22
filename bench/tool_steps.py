"""What one tool step costs, a read and a write up to where it waits for a person, beside two agent frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from bench.crowd import stop_run
from bench.frameworks.environment import FRAMEWORKS, Framework, step_ms
from bench.house import DATABASE, House
from bench.listeners import hear
from bench.measure import Sample, by_turns, ratio
from bench.model import ask_for_a_write, ask_for_steps
from bench.plan import Plan
from bench.report import Goal, Row
from bench.visitor import create_orders

_APART_S = 0.2
"""Between the starts of runs that are measured one by one."""
_SIDES = tuple(product(FRAMEWORKS, (True, False)))


def tool_steps(house: House, plan: Plan, python: Path | None) -> Iterator[Row]:
    """The rows of both steps; those of the frameworks only with their `python`."""
    for place in range(_writers(house, plan)):
        count = plan.tool_steps if place == 0 else 1
        create_orders(f"{house.web.url}/api/v1/work-orders", house.cookies(place), count, "Pump {} leaks")
    yield from _reads(house, plan, python)
    yield from _writes(house, plan, python)


def _reads(house: House, plan: Plan, python: Path | None) -> Iterator[Row]:
    desk, theirs = _sampled(house, plan, python, partial(_read_ms, house, plan), stage=False)
    spent = f"{plan.tool_steps} steps of a run, less a run without"
    yield Row("tool step of the desk", median(desk), "ms", remark=f"one read; {spent}")
    for (framework, records), samples in theirs:
        recorded = f"same model server, same query, one journaled record of each call there; {spent}"
        remark = recorded if records else "no gate, no money, no record"
        yield _over("tool step", framework, ratio(desk, samples), remark, records=records)


def _writes(house: House, plan: Plan, python: Path | None) -> Iterator[Row]:
    desk, theirs = _sampled(house, plan, python, partial(_write_ms, house, plan), stage=True)
    remark = "from the result of a read to the request for approval at the reader: model asked, gate, proposal, record"
    yield Row("staged write of the desk", median(desk), "ms", remark=remark)
    for (framework, records), samples in theirs:
        word = f"its own `{framework.approval}`, from the result of a read to the run that waits"
        kept = (
            "the order read, one journaled record of proposal and run; no gate, no money"
            if records
            else "in memory only"
        )
        yield _over("staged write", framework, ratio(desk, samples), f"{word}; {kept}", records=records)


def _over(what: str, framework: Framework, figure: float, remark: str, *, records: bool) -> Row:
    kind, goal = ("with a record", Goal("<", 1.0)) if records else ("that keeps nothing", None)
    return Row(f"{what} over {framework.name}'s {kind}", figure, goal=goal, remark=remark)


def _sampled(
    house: House, plan: Plan, python: Path | None, desk: Sample, *, stage: bool
) -> tuple[list[float], list[tuple[tuple[Framework, bool], list[float]]]]:
    """The desk's samples and those of each framework, with and without a record, taken by turns."""
    sides = _SIDES if python else ()
    settings = {records: _settings(house, plan, records=records, stage=stage) for records in (True, False)}
    others = [partial(step_ms, str(python), framework, settings[records]) for framework, records in sides]
    ours, *theirs = by_turns(plan.tool_rounds, desk, *others)
    return ours, list(zip(sides, theirs, strict=True))


def _read_ms(house: House, plan: Plan) -> float:
    hear(house.at, [house.ask(0, ask_for_steps(1))])
    samples = []
    for _ in range(3):
        whole = hear(house.at, [house.ask(0, ask_for_steps(plan.tool_steps))])[0].total_s
        empty = hear(house.at, [house.ask(0, ask_for_steps(0))])[0].total_s
        samples.append((whole - empty) * 1000 / plan.tool_steps)
    return median(samples)


def _write_ms(house: House, plan: Plan) -> float:
    """One run of each writer, one after the other; their proposals wait together, and are then dropped."""
    writers = range(_writers(house, plan))
    asks = [house.ask(place, ask_for_a_write(), "tool_approval_required") for place in writers]
    heard = hear(house.at, asks, spread_s=len(asks) * _APART_S)
    for place in writers:
        stop_run(house.web.url, house.cookies(place))
    times = [one.arrived_s for one in heard]
    return median((one["tool_approval_required"] - one["tool_result"]) * 1000 for one in times)


def _writers(house: House, plan: Plan) -> int:
    return min(plan.tool_steps, len(house.users))


def _settings(house: House, plan: Plan, *, records: bool, stage: bool) -> dict[str, str]:
    return {
        "MODEL_URL": f"{house.model.url}/v1",
        "STEPS": str(plan.tool_steps),
        "RECORD": "1" if records else "0",
        "STAGE": "1" if stage else "0",
        "MONGODB_URI": house.at.mongodb_uri,
        "MONGODB_DB": DATABASE,
        "USER_ID": str(house.users[0]),
    }
