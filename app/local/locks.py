"""Locks between processes: `flock` on a file, let go by the kernel however its holder ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.local.errors import LocalServiceError

_POLL_S = 0.05


@contextmanager
def exclusive(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Holds `path` alone. Raises `LocalServiceError` when another process keeps it longer than `timeout_s`."""
    descriptor = _open(path)
    try:
        deadline = time.monotonic() + timeout_s
        while not _try(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise LocalServiceError(
                    f"Another process has held {path} for over {timeout_s:.0f} s. End it and try again."
                )
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


class UseCount:
    """Who uses what lies beside `path`: each user holds the file shared, so that the last one can tell."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def join(self) -> None:
        self._descriptor = _open(self._path)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def leave(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_unused(self) -> bool:
        """Whether nobody uses it. Ask while holding the lock under which users join."""
        descriptor = _open(self._path)
        try:
            return _try(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
