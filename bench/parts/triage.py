"""Part three: how many events workers get through beside bare claims, and how soon a new order is picked up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from bson import ObjectId
from pymongo import MongoClient

from app.governance.models import AgentConfig
from app.work_orders.creation_events import ORDER_CREATED
from app.work_orders.documents import order_row
from app.work_orders.schemas import HistoryMark, Order
from bench.crowd import people, signed_in
from bench.measure import by_turns, percentile, ratio
from bench.plan import Plan
from bench.report import Goal, Row
from bench.stage import BenchError, Program, Stage, desk_web, served, started
from bench.visitor import create_orders

_DATABASE = "bench_triage"
_LANES = 2
_DRAIN_S = 180.0
_OUTBOX = (
    "the worker's own lanes and outbox claim and settle each event, with a handler that does nothing; the bare side "
    "only claims, by find_one_and_update; same write concern, by turns, median of the rounds"
)
_WHOLE = (
    "whole passes, each with an HTTP call to an instant model: switch, order, person, run, money reserved and settled, "
    "transcript, call record, suggestion, settlement: 17 operations of MongoDB, 3 of which wait for the journal"
)

Database = Any


@dataclass(frozen=True, slots=True)
class House:
    """Where the events lie, whose orders they are about, and the model that judges them."""

    at: Stage
    database: Database
    owner: ObjectId
    model: Program


def run(at: Stage, plan: Plan) -> list[Row]:
    """The rows of the part. Raises `BenchError`."""
    owner = asyncio.run(people(at, _DATABASE, 1))[0]
    with MongoClient[dict[str, Any]](at.mongodb_uri, tz_aware=True) as client, served(at, "bench.model") as model:
        house = House(at, client[_DATABASE], owner, model)
        _open_policy(house.database)
        return [*_throughput(house, plan), *_pick_up(house, plan)]


def _open_policy(database: Database) -> None:
    now = datetime.now(UTC)
    policy = AgentConfig.model_construct(name="triage", daily_action_cap=1_000_000, updated_at=now, created_at=now)
    database["agentconfigs"].insert_one(policy.model_dump(by_alias=True, exclude={"id"}))


def _throughput(house: House, plan: Plan) -> Iterator[Row]:
    """The outbox alone beside bare claims, which is the goal; then whole passes, which do much more than claim."""
    for workers in plan.workers:
        each = f"{workers} worker{'s' if workers > 1 else ''}"
        drained, bare = by_turns(
            plan.claim_rounds,
            lambda: _claims_per_s(house, plan, workers, "bench.drain", "updatedAt"),  # noqa: B023 - called at once
            lambda: _claims_per_s(house, plan, workers, "bench.claims", "claimedAt"),  # noqa: B023 - called at once
        )
        yield _told(Row(f"outbox over bare claims, {each}", ratio(drained, bare), goal=Goal("≥", 0.5), remark=_OUTBOX))
        yield _told(Row(f"events claimed and settled, {each}", median(drained), "/s", remark="the same, as it is"))
        passes = _passes_per_s(house, plan, workers)
        yield _told(Row(f"events triaged, {each}", passes, "/s", remark=_WHOLE))
        yield _told(Row(f"triage over bare claims, {each}", passes / median(bare), remark="the same whole passes"))


def _claims_per_s(house: House, plan: Plan, workers: int, module: str, ended: str) -> float:
    due = _make_events(house, plan.claims, workers * plan.head_start_s / 2)
    extra = {"AGENT_CONCURRENCY": str(_LANES), "START_AT": str(due.timestamp())}
    environment = house.at.environment(_DATABASE, None, extra)
    with ExitStack() as running:
        programs = [
            running.enter_context(started(house.at, f"{module}{number}", [module], environment))
            for number in range(workers)
        ]
        _wait(programs, lambda: all(program.process.poll() == 0 for program in programs))
        assert house.database["outboxevents"].count_documents({"claimedAt": None}) == 0, "each event was claimed"
        return _rate(house, plan.claims, ended)


def _passes_per_s(house: House, plan: Plan, workers: int) -> float:
    _make_events(house, plan.events, workers * plan.head_start_s)
    with ExitStack() as running:
        programs = [running.enter_context(_worker(house, number)) for number in range(workers)]
        _wait(programs, lambda: house.database["outboxevents"].count_documents({"status": "done"}) == plan.events)
        assert house.database["triagesuggestions"].count_documents({}) == plan.events, "each event has its suggestion"
        return _rate(house, plan.events, "updatedAt")


def _worker(house: House, number: int) -> AbstractContextManager[Program]:
    extra = _triage_settings(house.model) | {"AGENT_POLL_INTERVAL_MS": "200"}
    return started(house.at, f"worker{number}", ["app.cli", "worker"], house.at.environment(_DATABASE, None, extra))


def _triage_settings(model: Program) -> dict[str, str]:
    return {
        "AI_ENABLED": "true",
        "AI_ALLOW_LOCAL_PROVIDER": "true",
        "AI_BASE_URL": f"{model.url}/v1",
        "AI_MODEL": "bench",
        "AGENT_CONCURRENCY": str(_LANES),
        "AGENT_DAILY_SPEND_USD": "100000",
        "AI_GLOBAL_DAILY_SPEND_USD": "100000",
    }


def _make_events(house: House, count: int, ahead_s: float) -> datetime:
    """Fresh orders and their events, all due at one moment `ahead_s` from now, which is returned."""
    for name in ("workorders", "outboxevents", "triagesuggestions", "agentruns", "agentmessages", "agenttoolcalls"):
        house.database[name].delete_many({})
    now = datetime.now(UTC).replace(microsecond=0)
    due = now + timedelta(seconds=ahead_s)
    orders = [_order(house.owner, number, now) for number in range(count)]
    house.database["workorders"].insert_many(
        [order_row(order, [HistoryMark(None, house.owner, now, 1, "person", "created", [])]) for order in orders]
    )
    house.database["outboxevents"].insert_many([_event(order.id, now, due) for order in orders])
    return due


def _order(owner: ObjectId, number: int, now: datetime) -> Order:
    return Order(
        id=ObjectId(),
        title=f"Pump {number} leaks",
        description="Puddle under P-204 since Monday.",
        priority="low",
        status="pending",
        owner=owner,
        version=1,
        created_at=now,
        updated_at=now,
    )


def _event(order_id: ObjectId, now: datetime, due: datetime) -> dict[str, Any]:
    return {
        "type": ORDER_CREATED,
        "payloadRef": str(order_id),
        "status": "pending",
        "attempts": 0,
        "createdAt": now,
        "updatedAt": now,
        "claimedAt": None,
        "leasedUntil": None,
        "availableAt": due,
    }


def _rate(house: House, count: int, ended: str) -> float:
    """Events per second from the first claim to the last end."""
    first = house.database["outboxevents"].find_one(sort=[("claimedAt", 1)])["claimedAt"]
    last = house.database["outboxevents"].find_one(sort=[(ended, -1)])[ended]
    return float(count / max(0.001, (last - first).total_seconds()))


def _wait(programs: Sequence[Program], done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DRAIN_S
    while not done():
        for program in programs:
            program.require_well()
        if time.monotonic() > deadline:
            raise BenchError("The workers did not get through their events in time.")
        time.sleep(0.2)


def _pick_up(house: House, plan: Plan) -> Iterator[Row]:
    """One idle worker with the settings it ships with; orders come one by one."""
    _make_events(house, 1, 0.0)
    settings, headers = _triage_settings(house.model), signed_in(house.at, _DATABASE, house.owner)
    worker = started(house.at, "worker0", ["app.cli", "worker"], house.at.environment(_DATABASE, None, settings))
    with desk_web(house.at, _DATABASE, **settings) as web, worker as running:
        _wait([running], lambda: house.database["outboxevents"].count_documents({"status": "done"}) == 1)
        for _ in range(plan.pickups):
            create_orders(f"{web.url}/api/v1/work-orders", headers, 1)
            time.sleep(0.05)
        _wait([running], lambda: house.database["outboxevents"].count_documents({"status": "done"}) == plan.pickups + 1)
    rows = house.database["outboxevents"].find({}, sort=[("createdAt", 1)]).skip(1)
    delays = [(row["claimedAt"] - row["createdAt"]).total_seconds() * 1000 for row in rows]
    remark = (
        f"from the event's creation to its claim, {plan.pickups} orders one by one, one idle worker, woken by Redis"
    )
    yield _told(Row("pick-up delay p50", percentile(delays, 50), "ms", remark=remark))
    yield _told(Row("pick-up delay p99", percentile(delays, 99), "ms", remark=remark))


def _told(row: Row) -> Row:
    print(f"  {row.what}: {row.shown()}", flush=True)
    return row
