"""What one watcher sees of a run: live from the hub, and from MongoDB where the stream has a hole (D-2)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
from bson import ObjectId
from redis.exceptions import RedisError

from app.copilot.events import Entry, RunEvent, is_last
from app.copilot.hub import START, EventHub, Silence
from app.copilot.presence import Presence
from app.copilot.replay import replay
from app.copilot.told import Told
from app.runs.models import AgentRun
from app.runs.service import RunService

NO_ID = ""
_TICK_S = 1.0
_LOOKS = 3
"""How often the record is looked at in a quiet stream, before only the pings do."""


class Watching:
    """Follows runs for the wires. Nothing here writes."""

    def __init__(self, runs: RunService, hub: EventHub, presence: Presence, silence_ms: int) -> None:
        self._runs = runs
        self._hub = hub
        self._presence = presence
        self._silence_s = silence_ms / 1000

    async def before(self, run_id: ObjectId, cursor: str) -> list[RunEvent]:
        """What was told up to `cursor`; empty when the stream does not know it (then `follow` starts anew)."""
        if cursor == START or not await self._knows(run_id, cursor):
            return []
        try:
            return [entry.event for entry in await self._hub.history(str(run_id), cursor)]
        except (RedisError, OSError, TimeoutError):
            return []

    async def follow(self, run_id: ObjectId, cursor: str) -> AsyncIterator[Entry | Silence]:
        """Everything after `cursor`, once, up to and including the run's last event; `Silence` is for pings.

        A cursor that the stream does not know starts from the beginning. Events told from MongoDB have no id.
        """
        start = cursor if cursor != START and await self._knows(run_id, cursor) else START
        told = Told()
        for event in await self.before(run_id, start):
            told.note(event)
        if told.ended:
            return
        watcher, heard_at = await self._presence.enter(run_id), time.monotonic()
        try:
            async for item in self._hub_or_database(run_id, start, told):
                yield item
                if told.ended:
                    return
                if time.monotonic() - heard_at >= self._silence_s:
                    await self._presence.stay(run_id, watcher)
                    heard_at = time.monotonic()
        finally:
            with anyio.CancelScope(shield=True):  # the client is gone: awaiting would be cancelled too
                await self._presence.leave(run_id, watcher)

    async def _hub_or_database(self, run_id: ObjectId, start: str, told: Told) -> AsyncIterator[Entry | Silence]:
        if await self._stream_is_gone(run_id):
            async for entry in self._fill(run_id, told):
                yield entry
        tick_s, pinged_at = min(_TICK_S, self._silence_s), time.monotonic()
        async with aclosing(self._hub.watch(str(run_id), start, tick_s)) as tidings:  # type: ignore[type-var]
            async for item in tidings:
                if isinstance(item, Silence):
                    due = time.monotonic() - pinged_at >= self._silence_s
                    if due or told.looks < _LOOKS:
                        async for entry in self._fill(run_id, told, late=True):
                            yield entry
                    if due:
                        pinged_at = time.monotonic()
                        yield item
                    continue
                pinged_at = time.monotonic()
                if not isinstance(item, Entry) or told.lacks_what_precedes(item):
                    async for entry in self._fill(run_id, told, end=not isinstance(item, Entry)):
                        yield entry
                if isinstance(item, Entry) and (news := told.news_in(item)):
                    told.note(news.event)
                    yield news

    async def _fill(
        self, run_id: ObjectId, told: Told, *, end: bool = True, late: bool = False
    ) -> AsyncIterator[Entry]:
        """What MongoDB knows beyond what was told; with the run's end, or without where the stream brings it.

        `late`: only what the stream has not brought for a while; each event is on record a moment before it is there.
        """
        run: AgentRun = await self._runs.get(run_id)
        missing = told.missing(replay(run, await self._runs.calls_of([run_id])))
        if late and not told.is_late(bool(missing), time.monotonic()):
            return
        for event in missing:
            if end or not is_last(event):
                told.note(event)
                yield Entry(NO_ID, 0, event)
        told.behind = False

    async def _stream_is_gone(self, run_id: ObjectId) -> bool:
        try:
            return not await self._hub.exists(str(run_id))
        except (RedisError, OSError, TimeoutError):
            return True

    async def _knows(self, run_id: ObjectId, cursor: str) -> bool:
        try:
            return await self._hub.knows(str(run_id), cursor)
        except (RedisError, OSError, TimeoutError):
            return False
