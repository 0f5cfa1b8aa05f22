"""Part one: lists, pages and writes beside the bare app; lists and search in a large desk beside a small one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from bench.load import require_wrk, wrk
from bench.measure import Sample, by_turns, ratio
from bench.orders import ABSENT, COMMON, DISPATCHER, MIXED, OWNER, RARE, TWO_LETTERS, prepare
from bench.plan import Plan
from bench.report import Goal, Row
from bench.stage import Program, Stage, desk_web, served
from bench.visitor import Visitor, create_orders

_WRITERS = 8
_NEW = {"title": "Pump leaks at the flange", "description": "Puddle under P-204 since Monday.", "priority": "low"}

_POST = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = %s
"""
# Each thread changes an order of its own, always the version that the answer before told.
_PATCH = """
local ids = { %s }
local started = 0
function setup(thread)
  started = started + 1
  thread:set("id", ids[started])
end
local version = 1
function request()
  local status = version %% 2 == 1 and "in_progress" or "pending"
  local body = '{"version":' .. version .. ',"status":"' .. status .. '"}'
  return wrk.format("PATCH", "%s/" .. id, { ["Content-Type"] = "application/json", ["Cookie"] = "%s" }, body)
end
function response(status, headers, body)
  version = tonumber(string.match(body, '"version":(%%d+)')) or version
end
"""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two programs: its address, its paths, and the header that names the caller."""

    program: Program
    paths: dict[str, str]
    headers: dict[str, str]

    def url(self, name: str) -> str:
        return self.program.url + self.paths[name]


def run(at: Stage, plan: Plan) -> list[Row]:
    """The rows of the part. Raises `BenchError`."""
    require_wrk()
    small, large = f"bench_{plan.few_orders}", f"bench_{plan.orders}"
    for name, count in ((small, plan.few_orders), (large, plan.orders)):
        asyncio.run(prepare(at, name, count))
    return [*_against_bare(at, plan, small), *_growth(at, plan, small, large)]


def _against_bare(at: Stage, plan: Plan, database: str) -> Iterator[Row]:
    owner, dispatcher = Visitor(at, database, OWNER), Visitor(at, database, DISPATCHER)
    with desk_web(at, database) as web, served(at, "bench.bare", database) as bare:
        ours = {"own": "/api/v1/work-orders", "everyones": "/api/v1/admin/work-orders", "page": "/app/work-orders"}
        theirs = {"own": "/own", "everyones": "/everyones", "page": "/page", "orders": "/orders"}
        ours["orders"] = ours["own"]
        for name, what, goal, who in (
            ("own", "JSON list of 20, own orders", 0.80, owner),
            ("everyones", "JSON list of 20, everyone's, with owners", 0.80, dispatcher),
            ("page", "HTML list page", 0.50, owner),
        ):
            sides = Side(web, ours, who.cookies()), Side(bare, theirs, who.bare_cookies())
            yield _read_row(plan, name, what, goal, sides)
        sides = Side(web, ours, owner.cookies()), Side(bare, theirs, owner.bare_cookies())
        yield _create_row(plan, sides)
        yield _update_row(plan, sides)


def _read_row(plan: Plan, name: str, what: str, goal: float, sides: tuple[Side, Side]) -> Row:
    def sample(side: Side) -> float:
        return wrk(side.url(name), plan.seconds, plan.connections, side.headers).per_second

    remark = "requests/s of `desk web` over the bare app's"
    return _told(Row(what, _compared(plan, sides, sample), goal=Goal("≥", goal), remark=remark))


def _create_row(plan: Plan, sides: tuple[Side, Side]) -> Row:
    def sample(side: Side) -> float:
        script = _POST % json.dumps(json.dumps(_NEW))
        return wrk(side.url("orders"), plan.seconds, _WRITERS, side.headers, script).per_second

    remark = "two journaled inserts each: the order and its outbox event"
    return _told(Row("create", _compared(plan, sides, sample), remark=remark))


def _update_row(plan: Plan, sides: tuple[Side, Side]) -> Row:
    def sample(side: Side) -> float:
        ids = create_orders(side.url("orders"), side.headers, _WRITERS)
        listed = ", ".join(f'"{one}"' for one in ids)
        script = _PATCH % (listed, side.paths["orders"], side.headers["Cookie"])
        return wrk(side.url("orders"), plan.seconds, _WRITERS, {}, script).per_second

    remark = f"read, check, one journaled conditional update; {_WRITERS} orders at once"
    return _told(Row("update", _compared(plan, sides, sample), remark=remark))


def _compared(plan: Plan, sides: tuple[Side, Side], sample: Callable[[Side], float]) -> float:
    for side in sides:
        sample(side)  # warm
    ours, theirs = by_turns(plan.rounds, lambda: sample(sides[0]), lambda: sample(sides[1]))
    return ratio(ours, theirs)


def _growth(at: Stage, plan: Plan, small: str, large: str) -> Iterator[Row]:
    own, all_ = "/api/v1/work-orders", "/api/v1/admin/work-orders"
    sizes = f"{plan.orders:,} over {plan.few_orders:,} orders, one request at a time"
    with desk_web(at, small) as few, desk_web(at, large) as many:
        for what, who, path, query, goal, remark in (
            ("list growth, own orders", OWNER, own, {}, 1.2, ""),
            ("list growth, everyone's", DISPATCHER, all_, {}, 1.2, ""),
            ("list growth, filtered", DISPATCHER, all_, {"status": "pending"}, 1.2, ""),
            ("search, rare word", DISPATCHER, all_, {"search": RARE}, 2.0, ""),
            ("search, absent word", DISPATCHER, all_, {"search": ABSENT}, 2.0, ""),
            ("search, common word", DISPATCHER, all_, {"search": COMMON}, None, "bound by the page it fills at once"),
            (
                "search, absent, of common parts", DISPATCHER, all_, {"search": MIXED}, None,
                "no trigram is rare: a walk, newest first, cut at the time budget and said so",
            ),
            (
                "search, two letters, absent", DISPATCHER, all_, {"search": TWO_LETTERS}, None,
                "no trigram at all: a walk, newest first, cut at the time budget and said so",
            ),
        ):  # fmt: skip
            target = f"{path}?{urlencode(query)}"
            sides = [(Visitor(at, name, who).cookies(), program) for name, program in ((small, few), (large, many))]
            seconds = plan.seconds * (1 if goal else 2)  # a walk is slow: a few of them at least
            samples = [_latency(seconds, program.url + target, headers) for headers, program in sides]
            for sample in samples:
                sample()  # warm
            before, after = by_turns(plan.rounds, *samples)
            text = f"{remark}; {sizes}" if remark else sizes
            yield _told(Row(what, ratio(after, before), goal=Goal("≤", goal) if goal else None, remark=text))


def _latency(seconds: float, url: str, headers: dict[str, str]) -> Sample:
    return lambda: wrk(url, seconds, 1, headers).p50_ms


def _told(row: Row) -> Row:
    print(f"  {row.what}: {row.shown()}", flush=True)
    return row
