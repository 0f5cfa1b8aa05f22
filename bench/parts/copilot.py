"""Part two: an answer through the desk beside the model itself, many streams at once, and one tool step."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from statistics import median

from bench.crowd import people
from bench.frameworks.environment import frameworks_python
from bench.house import DATABASE, House
from bench.listeners import Heard, hear
from bench.measure import percentile, ratio
from bench.model import ask_for_tokens
from bench.plan import Plan
from bench.report import Goal, Row
from bench.stage import BenchError, Program, Stage, desk_web, served
from bench.tool_steps import tool_steps

_PACE = 100
"""Tokens per second of one answer, as a quick model writes."""
_STARTS_PER_S = 20


def run(at: Stage, plan: Plan) -> list[Row]:
    """The rows of the part. Raises `BenchError`."""
    python = frameworks_python(plan.folder) if plan.frameworks else None
    users = asyncio.run(people(at, DATABASE, plan.streams))
    with served(at, "bench.model") as model, desk_web(at, DATABASE, **_copilot_settings(model)) as web:
        house = House(at, web, model, users)
        return [
            *_answers(house, plan, _PACE, f"{plan.tokens} tokens at {_PACE} a second"),
            *_answers(house, plan, 0, f"{plan.tokens} tokens at once"),
            *_crowd(house, plan),
            *map(_told, tool_steps(house, plan, python)),
        ]


def _copilot_settings(model: Program) -> dict[str, str]:
    return {
        "AI_ENABLED": "true",
        "AI_ALLOW_LOCAL_PROVIDER": "true",
        "AI_BASE_URL": f"{model.url}/v1",
        "AI_MODEL": "bench",
        "AI_MAX_STEPS_PER_RUN": "100",
        "AI_DAILY_SPEND_USD": "100000",
        "AI_GLOBAL_DAILY_SPEND_USD": "100000",
    }


def _answers(house: House, plan: Plan, rate: int, what: str) -> Iterator[Row]:
    message = ask_for_tokens(plan.tokens, rate)

    def through_the_desk() -> Heard:
        return hear(house.at, [house.ask(0, message)])[0]

    def from_the_model() -> Heard:
        return hear(house.at, [house.direct(message)])[0]

    pairs: list[tuple[Heard, Heard]] = []
    for number in range(plan.answers + 1):
        pair = (through_the_desk(), from_the_model()) if number % 2 else (from_the_model(), through_the_desk())[::-1]
        pairs.append(pair)
    desk, model = zip(*pairs[1:], strict=True)  # the first one warms
    total = ratio([heard.total_s for heard in desk], [heard.total_s for heard in model])
    goal = Goal("≤", 1.05) if rate else None
    why = "" if rate else "bound by the work per token, for nothing else is waited for"
    yield _told(Row(f"total time, {what}", total, goal=goal, remark=why or "over reading the model itself"))
    later = median((ours.first_s - theirs.first_s) * 1000 for ours, theirs in zip(desk, model, strict=True))
    remark = "later than from the model itself: checks, the run's record, money reserved, then the model is asked"
    yield _told(Row(f"time to first token, {what}", later, "ms later", remark=remark))


def _crowd(house: House, plan: Plan) -> Iterator[Row]:
    asks = [house.ask(place, ask_for_tokens(plan.stream_tokens, plan.stream_rate)) for place in range(plan.streams)]
    tokens = plan.streams * plan.stream_tokens
    before_kb, before_s = house.web.memory_kb(), house.web.cpu_s()
    with _Peak(house.web) as peak:
        heard = hear(house.at, asks, spread_s=plan.streams / _STARTS_PER_S)
    cpu_s = house.web.cpu_s() - before_s
    lags = [lag for one in heard for lag in one.lags_ms]
    if len(lags) != tokens:
        raise BenchError(f"{tokens - len(lags):,} of {tokens:,} tokens never came: see {house.web.log}.")
    what = f"{plan.streams} streams in one process, {plan.stream_rate} tokens/s each"
    words = "from the model's send to the reader, the 30 ms in which words are gathered included"
    yield _told(Row(f"{what}: lag p50", percentile(lags, 50), "ms", remark=words))
    yield _told(Row(f"{what}: lag p99", percentile(lags, 99), "ms", remark="starts of runs fall into it"))
    remark = "at the peak, over the idle process; run, provider connection, stream and watcher together"
    yield _told(Row(f"{what}: memory", (peak.kb - before_kb) / plan.streams, "kB per stream", remark=remark))
    share = f"every token an event of its own; {cpu_s:.1f} s for {tokens:,} tokens and {plan.streams} runs"
    yield _told(Row(f"{what}: CPU", cpu_s / tokens * 1000, "s per 1,000 tokens", remark=share))


class _Peak:
    """The most that a program held in memory while the block ran."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self.kb = 0

    def __enter__(self) -> _Peak:
        self._watcher.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._watcher.join()

    def _watch(self) -> None:
        while True:
            self.kb = max(self.kb, self._program.memory_kb())
            if self._over.wait(0.1):
                return


def _told(row: Row) -> Row:
    print(f"  {row.what}: {row.shown()}", flush=True)
    return row
