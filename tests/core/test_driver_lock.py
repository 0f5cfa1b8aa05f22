"""The MongoDB driver's waiting: whoever is cancelled while it waits leaves lock and notice to the others.

A query that waits for a connection is cancelled at each turn of the event loop around its wake-up. Nothing here takes
time: the notice, the release of the lock and the cancellations are told turn by turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pymongo.lock
import pytest

from app.core.driver_lock import _wait_for, mend_driver_lock

WaitFor = Callable[[Awaitable[Any], float | None], Awaitable[Any]]

NEVER_S = 600.0
SETTLED_TURNS = 60
MOMENTS = [
    (held, first, again)
    for held in range(4)  # turns for which the notifier keeps the lock
    for first in range(8)  # turns from the notice to the first cancellation
    for again in (None, 0, 1, 2, 3)  # turns from there to a second one: a time-out, and the person leaves
]
BEFORE_3_12 = sys.version_info < (3, 12)


@dataclass(frozen=True)
class Seen:
    """What became of two waiters of one notice, the first of them cancelled."""

    cancelled: bool
    """Whether the cancellation was taken by a waiter that still ran, and ended it."""
    swallowed: bool
    """Whether it was taken and the waiter went on all the same."""
    notified: int
    lock_is_free: bool
    broken: str = ""
    """The exceptions of the waiters and of the notifier."""

    @property
    def holds(self) -> bool:
        return not self.swallowed and self.notified == 1 and self.lock_is_free and not self.broken


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def at_moment(held: int, first: int, again: int | None) -> Seen:
    """Two waiters, one notice: the first waiter is cancelled `first` turns after it, and perhaps once more."""
    lock = pymongo.lock._async_create_lock()
    condition = pymongo.lock._async_create_condition(lock)

    async def waiter() -> bool:
        async with condition:
            return await pymongo.lock._async_cond_wait(condition, NEVER_S)

    async def notifier() -> None:
        async with condition:
            condition.notify(1)
            await turns(held)

    one, other = asyncio.create_task(waiter()), asyncio.create_task(waiter())
    await turns(4)
    notice = asyncio.create_task(notifier())
    await turns(1 + first)
    was_running = one.cancel()
    if again is not None:
        await turns(again)
        one.cancel()
    await turns(SETTLED_TURNS)
    seen = Seen(
        cancelled=was_running and one.cancelled(),
        swallowed=was_running and _got(one),
        notified=_got(one) + _got(other),
        lock_is_free=not lock.locked(),
        broken=" ".join(_fault(task) for task in (one, other, notice)).strip(),
    )
    await _dismiss(one, other, notice)
    return seen


def _got(task: asyncio.Task[bool]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None and task.result()


def _fault(task: asyncio.Task[Any]) -> str:
    return type(task.exception()).__name__ if task.done() and not task.cancelled() and task.exception() else ""


async def _dismiss(*tasks: asyncio.Task[Any]) -> None:
    """Ends what still waits: where the lock was lost, only by cancelling again and again."""
    for _ in range(SETTLED_TURNS):
        for task in tasks:
            task.cancel()
        await turns(1)
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, RuntimeError):
            if task.done():
                task.result()


async def seen_at_all_moments(monkeypatch: pytest.MonkeyPatch, wait_for: WaitFor) -> list[Seen]:
    monkeypatch.setattr(pymongo.lock, "wait_for", wait_for)
    return [await at_moment(*moment) for moment in MOMENTS]


async def test_a_wait_that_is_cancelled_at_any_moment_leaves_lock_and_notice_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DATA-1: the cancellation ends the waiter, exactly one of the two gets the notice, and the lock is free."""
    seen = await seen_at_all_moments(monkeypatch, _wait_for)
    assert [(moment, one) for moment, one in zip(MOMENTS, seen, strict=True) if not one.holds] == []
    assert {one.cancelled for one in seen} == {True, False}  # some of the moments were too late


async def test_the_wait_of_an_older_python_loses_the_lock_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """DATA-1: what is mended, and why: where this fails on an older Python, the mending can go."""
    seen = await seen_at_all_moments(monkeypatch, asyncio.wait_for)
    assert any(not one.lock_is_free for one in seen) == BEFORE_3_12
    assert any(one.swallowed for one in seen) == BEFORE_3_12


async def test_a_wait_has_its_time_and_holds_the_lock_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """DATA-1: as the driver expects it: False when the time is over."""
    monkeypatch.setattr(pymongo.lock, "wait_for", _wait_for)
    lock = pymongo.lock._async_create_lock()
    condition = pymongo.lock._async_create_condition(lock)
    async with condition:
        assert await pymongo.lock._async_cond_wait(condition, 0.001) is False
        assert lock.locked()
    assert not lock.locked()


def test_the_drivers_wait_is_replaced_on_an_older_python_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """DATA-1: and a driver that waits in another way is left alone."""
    monkeypatch.setattr(pymongo.lock, "wait_for", asyncio.wait_for)
    mend_driver_lock()
    assert vars(pymongo.lock)["wait_for"] is (_wait_for if BEFORE_3_12 else asyncio.wait_for)
    monkeypatch.delattr(pymongo.lock, "wait_for")
    mend_driver_lock()
    assert not hasattr(pymongo.lock, "wait_for")
