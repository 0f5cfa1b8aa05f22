"""What agents did today in numbers, for scraping: counted in the database, so true across processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core.mongo import Database
from app.runs.schemas import FINAL_OUTCOMES

LATENCY_BUCKETS_S = (5, 15, 30, 60, 120, 300, 600, 1800, 3600)
_DECISIONS = ("approved", "rejected", "expired")


@dataclass(frozen=True, slots=True)
class ApprovalLatency:
    """Decisions by a person; `buckets` holds how many came within each bound of `LATENCY_BUCKETS_S`, cumulated."""

    buckets: list[int]
    count: int
    sum_s: float


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Since a moment. Keys: (mode, status); (mode, direction); (tool, outcome); decision."""

    finished: Mapping[tuple[str, str], int]
    tokens: Mapping[tuple[str, str], int]
    calls: Mapping[tuple[str, str], int]
    decisions: Mapping[str, int]
    latency: ApprovalLatency
    running: Mapping[str, int]
    pending_approvals: int


class RunCounter:
    """A handful of aggregations over one day's rows, each served by an index."""

    def __init__(self, database: Database) -> None:
        self._runs = database["agentruns"]
        self._calls = database["agenttoolcalls"]

    async def since(self, moment: datetime) -> RunFigures:
        runs = await self._finished(moment)
        decided = await self._decided(moment)
        return RunFigures(
            finished={(row["_id"]["mode"], row["_id"]["status"]): row["n"] for row in runs},
            tokens=_tokens(runs),
            calls=await self._called(moment),
            decisions={status: len(seconds) for status, seconds in decided.items()},
            latency=_latency(decided.get("approved", []) + decided.get("rejected", [])),
            running=await self._running(),
            pending_approvals=await self._calls.count_documents({"outcome": "pending"}),
        )

    async def _finished(self, moment: datetime) -> list[dict[str, Any]]:
        group = {
            "_id": {"mode": "$mode", "status": "$status"},
            "n": {"$sum": 1},
            "input": {"$sum": "$inputTokens"},
            "output": {"$sum": "$outputTokens"},
        }
        over = {"createdAt": {"$gte": moment}, "status": {"$ne": "running"}}
        return await (await self._runs.aggregate([{"$match": over}, {"$group": group}])).to_list()

    async def _running(self) -> dict[str, int]:
        group = {"_id": "$mode", "n": {"$sum": 1}}
        rows = await self._runs.aggregate([{"$match": {"status": "running"}}, {"$group": group}])
        return {row["_id"]: row["n"] async for row in rows}

    async def _called(self, moment: datetime) -> dict[tuple[str, str], int]:
        ended = {"createdAt": {"$gte": moment}, "outcome": {"$in": sorted(FINAL_OUTCOMES)}}
        group = {"_id": {"tool": "$tool", "outcome": "$outcome"}, "n": {"$sum": 1}}
        rows = await self._calls.aggregate([{"$match": ended}, {"$group": group}])
        return {(row["_id"]["tool"], row["_id"]["outcome"]): row["n"] async for row in rows}

    async def _decided(self, moment: datetime) -> dict[str, list[float]]:
        """Seconds from staging to each decision, by its status."""
        query = {"createdAt": {"$gte": moment}, "approval.status": {"$in": list(_DECISIONS)}}
        found: dict[str, list[float]] = {}
        shown = {"createdAt": 1, "approval.status": 1, "approval.decidedAt": 1}
        async for row in self._calls.find(query, shown):
            approval = row["approval"]
            decided = approval.get("decidedAt") or row["createdAt"]
            found.setdefault(approval["status"], []).append((decided - row["createdAt"]).total_seconds())
        return found


def _tokens(runs: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    totals: dict[tuple[str, str], int] = {}
    for row in runs:
        for direction in ("input", "output"):
            key = (row["_id"]["mode"], direction)
            totals[key] = totals.get(key, 0) + row[direction]
    return totals


def _latency(seconds: list[float]) -> ApprovalLatency:
    within = [sum(one <= bound for one in seconds) for bound in LATENCY_BUCKETS_S]
    return ApprovalLatency(within, len(seconds), sum(seconds))
