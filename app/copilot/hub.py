"""One reader per process for all watched runs (D-2).

It subscribes to a wake-up per run and reads each stream once into a ring that the run's watchers read by cursor.
A watcher costs no Redis connection; one that falls behind the ring reads the stream by itself, at its own pace.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from bson import ObjectId
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from app.copilot.entry_ids import after, is_entry_id
from app.copilot.events import Entry, count_key, read_entry, stream_key, wake_channel
from app.core.logging import get_logger
from app.core.redis import RedisClient

log = get_logger(__name__)

RING = 256
_READ_AT_ONCE = 256
_RECONNECT_AFTER_S = 0.5
START = "0-0"


class Silence:
    """Nothing happened for a while: the moment for a ping, and for a look into the database."""


class Gap:
    """Entries are missing or Redis is away: what is in MongoDB must be told again."""


Tidings = Entry | Silence | Gap


@dataclass(eq=False)
class _Channel:
    """One run as this process follows it."""

    ring: deque[Entry] = field(default_factory=lambda: deque(maxlen=RING))
    last: str = START
    watchers: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    broken: bool = False

    def tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def _read_all(rows: Sequence[tuple[str, dict[str, str]]]) -> list[Entry]:
    entries = []
    for entry_id, fields in rows:
        try:
            entries.append(read_entry(entry_id, fields))
        except (ValueError, KeyError) as error:
            log.warning("malformed_event", entry_id=entry_id, error=type(error).__name__)
    return entries


class EventHub:
    """Follows runs for watchers. `open` starts the reader; `close` ends it."""

    def __init__(self, redis: RedisClient, prefix: str) -> None:
        self._redis = redis
        self._prefix = prefix
        self._stops = f"{prefix}:stops"
        self._stop_handler: Callable[[ObjectId], None] | None = None
        self._channels: dict[str, _Channel] = {}
        self._pubsub: PubSub | None = None
        self._reader: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()
        self._subscribed = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The reader's life, for the program's lifespan."""
        self._reader = asyncio.create_task(self._read_forever(), name="event-hub")
        try:
            yield
        finally:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader

    async def history(self, run_id: str, until: str) -> list[Entry]:
        """The run's entries up to and including `until`."""
        rows = await self._redis.xrange(stream_key(self._prefix, run_id), min="-", max=until)
        return _read_all(rows)

    async def exists(self, run_id: str) -> bool:
        """Whether the run's stream, which may have no event yet, is still in Redis."""
        return bool(await self._redis.exists(count_key(self._prefix, run_id)))

    async def knows(self, run_id: str, entry_id: str) -> bool:
        """Whether the stream still reaches back to `entry_id`: a future or foreign cursor is not known."""
        return is_entry_id(entry_id) and bool(
            await self._redis.xrange(stream_key(self._prefix, run_id), min=entry_id, max=entry_id, count=1)
        )

    async def watch(self, run_id: str, cursor: str, silence_s: float) -> AsyncIterator[Tidings]:
        """Everything after `cursor`, in order, once; `Silence` after `silence_s` without news. Never ends itself."""
        channel = await self._join(run_id)
        expected = 1 if cursor == START else None
        try:
            while True:
                changed = channel.changed
                entries = await self._entries_or_none(run_id, channel, cursor)
                if entries is None:
                    yield Gap()
                else:
                    for entry in entries:
                        if expected is not None and entry.number != expected:
                            yield Gap()  # trimmed, or Redis was lost and counts anew
                        cursor, expected = entry.id, entry.number + 1
                        yield entry
                    if entries:
                        continue
                try:
                    await asyncio.wait_for(changed.wait(), silence_s)
                except TimeoutError:
                    yield Silence()
        finally:
            self._leave(run_id, channel)

    async def _entries_or_none(self, run_id: str, channel: _Channel, cursor: str) -> list[Entry] | None:
        """What follows `cursor`; None while Redis is away."""
        if channel.broken:
            return None
        try:
            return await self._entries(run_id, channel, cursor)
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("events_not_read", run_id=run_id, error=type(error).__name__)
            return None

    async def _entries(self, run_id: str, channel: _Channel, cursor: str) -> list[Entry]:
        if not after(channel.last, cursor):
            return []
        oldest = channel.ring[0].id if channel.ring else channel.last
        if cursor == oldest or after(cursor, oldest):
            return [entry for entry in channel.ring if after(entry.id, cursor)]
        return (await self._range(run_id, cursor))[0]  # behind the ring: at its own pace

    async def _range(self, run_id: str, cursor: str) -> tuple[list[Entry], str]:
        """The next entries after `cursor`, and how far that reaches. A malformed one is left out."""
        rows = await self._redis.xrange(
            stream_key(self._prefix, run_id), min=f"({cursor}", max="+", count=_READ_AT_ONCE
        )
        return _read_all(rows), rows[-1][0] if rows else cursor

    async def _join(self, run_id: str) -> _Channel:
        channel = self._channels.setdefault(run_id, _Channel())
        channel.watchers += 1
        if channel.watchers == 1:
            await self._subscribe(run_id)  # first subscribe, then read the tail: nothing falls in between
            await self._refresh(run_id, channel)
        return channel

    def _leave(self, run_id: str, channel: _Channel) -> None:
        channel.watchers -= 1
        if channel.watchers == 0:
            self._channels.pop(run_id, None)

    async def _subscribe(self, run_id: str) -> None:
        try:
            await asyncio.wait_for(self._connected.wait(), 1.0)
            async with self._subscribed:
                if self._pubsub is not None:
                    await self._pubsub.subscribe(wake_channel(self._prefix, run_id))
        except (RedisError, OSError, TimeoutError):
            log.warning("events_without_wake_up", run_id=run_id)

    async def _refresh(self, run_id: str, channel: _Channel) -> None:
        """Reads what is new into the ring, and wakes the watchers."""
        try:
            while True:
                entries, last = await self._range(run_id, channel.last)
                if not after(last, channel.last):
                    break  # nothing new, or another task has read it meanwhile
                channel.ring.extend(entry for entry in entries if after(entry.id, channel.last))
                channel.last = last
            channel.broken = False
        except (RedisError, OSError, TimeoutError) as error:
            channel.broken = True
            log.warning("events_not_read", run_id=run_id, error=type(error).__name__)
        channel.tell()

    async def _read_forever(self) -> None:
        """Supervised: a lost connection or a malformed message costs one round, not the reader."""
        while True:
            try:
                await self._read_connection()
            except (RedisError, OSError, TimeoutError) as error:
                log.warning("event_reader_reconnects", error=type(error).__name__)
            self._connected.clear()
            for channel in self._channels.values():
                channel.broken = True
                channel.tell()
            await asyncio.sleep(_RECONNECT_AFTER_S)

    async def _read_connection(self) -> None:
        async with self._redis.pubsub(ignore_subscribe_messages=True) as pubsub:
            await pubsub.subscribe(self._stops, *(wake_channel(self._prefix, r) for r in self._channels))
            self._pubsub = pubsub
            self._connected.set()
            for run_id, channel in list(self._channels.items()):
                await self._refresh(run_id, channel)
            while True:
                message = await pubsub.get_message(timeout=1.0)
                if message is not None and message["channel"] == self._stops:
                    self._hear_stop(str(message["data"]))
                elif message is not None:
                    await self._wake(str(message["channel"]), pubsub)

    async def tell_stop(self, run_id: ObjectId) -> None:
        """Tells the process that works on `run_id` to stop it now. A lost word is made good by its next heartbeat."""
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            await self._redis.publish(self._stops, str(run_id))

    def on_stop(self, handler: Callable[[ObjectId], None]) -> None:
        """`handler` is called with each run that some process was asked to stop."""
        self._stop_handler = handler

    def _hear_stop(self, run_id: str) -> None:
        if self._stop_handler is not None and ObjectId.is_valid(run_id):
            self._stop_handler(ObjectId(run_id))

    async def _wake(self, channel_name: str, pubsub: PubSub) -> None:
        run_id = channel_name.removeprefix(f"{self._prefix}:run:").removesuffix(":wake")
        channel = self._channels.get(run_id)
        if channel is not None:
            await self._refresh(run_id, channel)
            return
        async with self._subscribed:  # against a watcher that joins at this very moment
            if run_id not in self._channels:
                await pubsub.unsubscribe(channel_name)  # the last one has left
