"""Part two: an answer through the desk beside the model itself, many streams at once, and one tool step."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from bson import ObjectId

from bench.crowd import new_session, people, signed_in
from bench.frameworks.environment import FRAMEWORKS, frameworks_python, step_ms
from bench.listeners import Ask, Heard, hear
from bench.measure import Sample, by_turns, percentile, ratio
from bench.model import ask_for_steps, ask_for_tokens
from bench.plan import Plan
from bench.report import Goal, Row
from bench.stage import BenchError, Program, Stage, desk_web, served
from bench.visitor import create_orders

_DATABASE = "bench_copilot"
_PACE = 100
"""Tokens per second of one answer, as a quick model writes."""
_STARTS_PER_S = 20


@dataclass(frozen=True, slots=True)
class House:
    """The running desk, its model, and who may talk to it."""

    at: Stage
    web: Program
    model: Program
    users: list[ObjectId]

    def cookies(self, place: int) -> dict[str, str]:
        return signed_in(self.at, _DATABASE, self.users[place])

    def ask(self, place: int, message: str) -> Ask:
        """A message of that person in a new conversation."""
        headers = self.cookies(place)
        return Ask(new_session(self.web.url, headers), headers, {"content": message})

    def direct(self, message: str) -> Ask:
        """The same message to the model itself."""
        body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": message}]}
        return Ask(f"{self.model.url}/v1/chat/completions", {}, body)


def run(at: Stage, plan: Plan) -> list[Row]:
    """The rows of the part. Raises `BenchError`."""
    python = frameworks_python(plan.folder) if plan.frameworks else None
    users = asyncio.run(people(at, _DATABASE, plan.streams))
    with served(at, "bench.model") as model, desk_web(at, _DATABASE, **_copilot_settings(model)) as web:
        house = House(at, web, model, users)
        return [
            *_answers(house, plan, _PACE, f"{plan.tokens} tokens at {_PACE} a second"),
            *_answers(house, plan, 0, f"{plan.tokens} tokens at once"),
            *_crowd(house, plan),
            *_tool_step(house, plan, python),
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


def _tool_step(house: House, plan: Plan, python: Path | None) -> Iterator[Row]:
    create_orders(f"{house.web.url}/api/v1/work-orders", house.cookies(0), plan.tool_steps, "Pump {} leaks")
    sides: list[Sample] = [partial(_desk_step_ms, house, plan)]
    for framework, record in product(FRAMEWORKS, ("1", "0")) if python else ():
        sides.append(partial(step_ms, str(python), framework, _framework_settings(house, plan, record)))
    samples = by_turns(plan.tool_rounds, *sides)
    spent = f"{plan.tool_steps} steps of a run, less a run without"
    yield _told(Row("tool step of the desk", median(samples[0]), "ms", remark=f"one read; {spent}"))
    if python is None:
        return
    for place, framework in enumerate(FRAMEWORKS):
        recorded, alone = samples[1 + 2 * place], samples[2 + 2 * place]
        remark = f"same model server, same query, one journaled record of each call there; {spent}"
        what = f"tool step over {framework.name}'s"
        yield _told(Row(f"{what} with a record", ratio(samples[0], recorded), goal=Goal("<", 1.0), remark=remark))
        yield _told(Row(f"{what} that keeps nothing", ratio(samples[0], alone), remark="no gate, no money, no record"))


def _desk_step_ms(house: House, plan: Plan) -> float:
    hear(house.at, [house.ask(0, ask_for_steps(1))])
    samples = []
    for _ in range(3):
        whole = hear(house.at, [house.ask(0, ask_for_steps(plan.tool_steps))])[0].total_s
        empty = hear(house.at, [house.ask(0, ask_for_steps(0))])[0].total_s
        samples.append((whole - empty) * 1000 / plan.tool_steps)
    return median(samples)


def _framework_settings(house: House, plan: Plan, record: str) -> dict[str, str]:
    return {
        "MODEL_URL": f"{house.model.url}/v1",
        "STEPS": str(plan.tool_steps),
        "RECORD": record,
        "MONGODB_URI": house.at.mongodb_uri,
        "MONGODB_DB": _DATABASE,
        "USER_ID": str(house.users[0]),
    }


def _told(row: Row) -> Row:
    print(f"  {row.what}: {row.shown()}", flush=True)
    return row
