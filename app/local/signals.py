"""The signals that ask a program to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop_signals() -> list[signal.Signals]:
    """Ctrl-C, a polite kill, a closed terminal; the last one not under `nohup`."""
    return [number for number in _ALL if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]


def raise_on_stop_signals() -> None:
    """Makes each of them a `KeyboardInterrupt`, so that what was started is stopped on the way out."""
    for number in stop_signals():
        signal.signal(number, _interrupt)


@contextmanager
def stop_signals_ignored_at_exit() -> Iterator[None]:
    """Ignores them from the end of the block on: the bounded stop that follows must not leave a server behind."""
    try:
        yield
    finally:
        for number in _ALL:
            signal.signal(number, signal.SIG_IGN)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
