"""Lanes: each works on one event at a time, so that no more is claimed than there is room to run (AGT-2)."""

from __future__ import annotations

import asyncio
from typing import Protocol

from pymongo.errors import PyMongoError

from app.core.logging import get_logger

log = get_logger(__name__)

_SECOND_LOOK_S = 0.1
"""A nudge that meets the drain job's own ending is not sent: so a woken lane looks once more a moment later."""


class Works(Protocol):
    """What a lane works for: triage."""

    async def run_next(self) -> object | None:
        """Claims one event and works on it; None when nothing is due."""


class Bell:
    """Wakes all lanes at once. Rung by a nudge, by the timer that lets waiting events go, and at the end."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()

    def listener(self) -> asyncio.Event:
        event = asyncio.Event()
        self._listeners.add(event)
        return event

    def ring(self) -> None:
        for event in self._listeners:
            event.set()


class Lane:
    """Works while there is work; then waits for the bell, or `poll_s` seconds (AGENT_POLL_INTERVAL_MS)."""

    def __init__(self, works: Works, bell: Bell, poll_s: float) -> None:
        self._works = works
        self._rung = bell.listener()
        self._poll_s = poll_s
        self._stopping = False

    def stop(self) -> None:
        """Ends the lane after the pass that it is in. Ring the bell afterwards."""
        self._stopping = True

    async def run(self) -> None:
        while not self._stopping:
            woken = self._rung.is_set()
            self._rung.clear()
            await self._drain()
            await self._wait(min(_SECOND_LOOK_S, self._poll_s) if woken else self._poll_s)

    async def _drain(self) -> None:
        """Works until nothing is due. A store that fails ends the round, not the lane: leases bring events back."""
        try:
            while not self._stopping and await self._works.run_next() is not None:
                pass
        except (PyMongoError, OSError) as error:
            log.warning("triage_lane_failed", error=type(error).__name__)
        except Exception as error:  # a fault of ours must not end the worker
            log.exception("triage_lane_failed", error=type(error).__name__)

    async def _wait(self, timeout_s: float) -> None:
        if self._stopping:
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        except TimeoutError:
            return
