"""One worker over an open desk: lanes, timers, the queue's listener; and how it stops (D-24, D-22)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from app.core.logging import get_logger
from app.desk import Desk, prefix_of
from worker.lanes import Bell, Lane
from worker.listener import JobListener
from worker.timers import Timer

log = get_logger(__name__)

_GRACE_S = 5.0
"""How long a pass may go on once the worker was asked to stop; then its event is given back."""
_GIVE_BACK_S = 4.0
_RETENTION_S = 3600.0


async def work(desk: Desk, stop: asyncio.Event) -> None:
    """Works until `stop` is set; then finishes what it is at, or gives it back, within a bound.

    With AI off it looks after the copilot's leftovers and missing events only, and claims nothing (D-22).
    """
    settings, bell = desk.settings, Bell()
    poll_s = settings.agent_poll_interval_ms / 1000
    room = settings.agent_concurrency if desk.triage.triage.enabled else 0
    lanes = [Lane(desk.triage.triage, bell, poll_s) for _ in range(room)]
    others: list[Coroutine[Any, Any, None]] = [timer.run() for timer in _timers(desk, bell)]
    if lanes:
        others.append(JobListener(settings.redis_url, prefix_of(settings), bell).run())
    log.info("worker_started", lanes=len(lanes), ai=desk.triage.triage.enabled)
    async with desk.copilot.sweeper.running():
        passes = [asyncio.create_task(lane.run(), name=f"lane-{n}") for n, lane in enumerate(lanes)]
        tasks = [asyncio.create_task(other) for other in others]
        try:
            await stop.wait()
        finally:
            for lane in lanes:
                lane.stop()
            bell.ring()
            await _ended(tasks, 0.0)
            await _ended(passes, _GRACE_S)
    log.info("worker_stopped")


def _timers(desk: Desk, bell: Bell) -> list[Timer]:
    settings, triage = desk.settings, desk.triage.triage
    sweep_s = settings.agent_sweep_interval_ms / 1000
    poll_s = settings.agent_poll_interval_ms / 1000
    older_than_ms = settings.agent_reconcile_after_ms

    async def let_go() -> None:
        if await triage.let_go():
            bell.ring()

    async def reconcile() -> None:
        if await triage.reconcile(older_than_ms):
            bell.ring()

    return [
        Timer("let_go", poll_s, let_go),
        Timer("sweep", sweep_s, triage.sweep),
        Timer("audit", sweep_s, desk.governance.triage_policy),
        Timer("retention", _RETENTION_S, desk.retention.sweep),
        Timer("reconcile", min(sweep_s, older_than_ms / 1000), reconcile),
    ]


async def _ended(tasks: list[asyncio.Task[None]], grace_s: float) -> None:
    """Waits `grace_s` for the tasks, then cancels what is left and waits for that, within a bound."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=grace_s)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late, timeout=_GIVE_BACK_S)
