"""The desk's numbers in the Prometheus text format, read from the database at each scrape.

So they are true across web and worker processes, and a worker needs no port. Counters count the present UTC day and
start anew at midnight, which `rate()` and `increase()` take as the reset that it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from app.core.clock import Clock
from app.governance.models import AgentSpend
from app.governance.spend import SpendLedger
from app.outbox.figures import OutboxCounter, OutboxFigures
from app.runs.figures import LATENCY_BUCKETS_S, RunCounter, RunFigures

_TRIAGE_TOOLS = frozenset({"triage_propose", "triage_apply"})


class PrometheusMetrics:
    """`tools` bounds the label of that name: what a model made up counts as `unknown`."""

    def __init__(
        self, runs: RunCounter, outbox: OutboxCounter, ledger: SpendLedger, clock: Clock, tools: Collection[str]
    ) -> None:
        self._runs = runs
        self._outbox = outbox
        self._ledger = ledger
        self._clock = clock
        self._tools = frozenset(tools) | _TRIAGE_TOOLS

    async def text(self) -> bytes:
        """The exposition of this moment."""
        now = self._clock.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        runs, outbox = await self._runs.since(midnight), await self._outbox.since(midnight)
        registry = CollectorRegistry(auto_describe=False)
        families = [
            *_run_families(runs, self._tools),
            *_spend_families(await self._ledger.today()),
            *_outbox_families(outbox, now),
        ]
        registry.register(_Snapshot(families))
        return generate_latest(registry)


class _Snapshot(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _run_families(runs: RunFigures, tools: Collection[str]) -> Iterable[Metric]:
    finished = CounterMetricFamily("desk_runs", "Runs that ended, today (UTC)", labels=["mode", "status"])
    for labels, number in runs.finished.items():
        finished.add_metric(list(labels), number)
    tokens = CounterMetricFamily("desk_tokens", "Tokens of ended runs, today (UTC)", labels=["mode", "direction"])
    for labels, number in runs.tokens.items():
        tokens.add_metric(list(labels), number)
    working = GaugeMetricFamily("desk_runs_working", "Runs that work or wait for a decision", labels=["mode"])
    for mode in ("copilot", "autonomous"):
        working.add_metric([mode], runs.running.get(mode, 0))
    return [finished, tokens, working, _calls(runs, tools), *_approvals(runs)]


def _calls(runs: RunFigures, tools: Collection[str]) -> Metric:
    named: dict[tuple[str, str], int] = {}
    for (tool, outcome), number in runs.calls.items():
        key = (tool if tool in tools else "unknown", outcome)
        named[key] = named.get(key, 0) + number
    calls = CounterMetricFamily("desk_tool_calls", "Tool calls that ended, today (UTC)", labels=["tool", "outcome"])
    for labels, number in named.items():
        calls.add_metric(list(labels), number)
    return calls


def _approvals(runs: RunFigures) -> Iterable[Metric]:
    decided = CounterMetricFamily("desk_approvals", "Proposals decided or expired, today (UTC)", labels=["decision"])
    for decision in ("approved", "rejected", "expired"):
        decided.add_metric([decision], runs.decisions.get(decision, 0))
    latency = HistogramMetricFamily("desk_approval_seconds", "From a proposal to a person's decision, today (UTC)")
    bounds = [*(str(float(bound)) for bound in LATENCY_BUCKETS_S), "+Inf"]
    numbers = [*runs.latency.buckets, runs.latency.count]
    latency.add_metric([], list(zip(bounds, numbers, strict=True)), runs.latency.sum_s)
    pending = GaugeMetricFamily("desk_approvals_pending", "Proposals that wait", value=runs.pending_approvals)
    return [decided, latency, pending]


def _spend_families(day: AgentSpend) -> Iterable[Metric]:
    spent = GaugeMetricFamily(
        "desk_spend_usd", "US dollars spent or reserved, this UTC day", labels=["scope"]
    )  # settling a reservation lowers it: no counter
    spent.add_metric(["all"], day.spent_usd)
    for agent, amount in day.agents.items():
        spent.add_metric([agent], amount)
    calls = CounterMetricFamily("desk_provider_calls", "Model calls of an agent, today (UTC)", labels=["agent"])
    for agent, number in day.actions.items():
        calls.add_metric([agent], number)
    return [spent, calls]


def _outbox_families(outbox: OutboxFigures, now: datetime) -> Iterable[Metric]:
    depth = GaugeMetricFamily("desk_outbox_events", "Open events by state and wait reason", labels=["state", "reason"])
    for labels, number in outbox.depth.items():
        depth.add_metric(list(labels), number)
    failed = sum(number for (state, _), number in outbox.depth.items() if state == "failed")
    age = (now - outbox.oldest_due).total_seconds() if outbox.oldest_due else 0.0
    return [
        depth,
        GaugeMetricFamily("desk_outbox_dead_letters", "Events that failed for good", value=failed),
        GaugeMetricFamily("desk_outbox_oldest_due_seconds", "Age of the oldest event that could run", value=age),
        GaugeMetricFamily("desk_outbox_claims", "Claims of the events made today (UTC)", value=outbox.claims),
        GaugeMetricFamily("desk_outbox_retries", "Claims beyond an event's first, likewise", value=outbox.retries),
    ]
