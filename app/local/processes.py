"""Processes by id: start one that outlives us, ask whether it still runs, end it within a bound."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_POLL_S = 0.02
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def spawn_detached(argv: Sequence[str], output: Path) -> int:
    """Starts `argv` in a session of its own, its output into the file `output`; returns its process id.

    A terminal's Ctrl-C does not reach it, and it gets none of our secrets: only a few named variables. Not a
    `Popen`: the object of a server that others go on using could not be let go of without a warning.
    """
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment["LC_ALL"] = "C"  # both servers refuse to start under a locale that the machine lacks
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.posix_spawn(
        argv[0],
        list(argv),
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def exit_code(pid: int) -> int | None:
    """The exit code of our own child (negative: the signal that ended it), None while it runs."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def is_running_with(pid: int, argument: str) -> bool:
    """Whether `pid` is a live process whose command line holds `argument` (Linux; elsewhere never)."""
    try:
        return argument.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def end(pid: int, *, grace_s: float) -> None:
    """Ends `pid`: SIGTERM, after `grace_s` SIGKILL; returns when it is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        if _wait_until_gone(pid, grace_s):
            return


def _wait_until_gone(pid: int, timeout_s: float) -> bool:
    if sys.platform == "linux":
        gone = _wait_on_pidfd(pid, timeout_s)
    else:
        gone = _poll_until_gone(pid, timeout_s)
    if gone:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return gone


def _wait_on_pidfd(pid: int, timeout_s: float) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], timeout_s)[0])
    finally:
        os.close(descriptor)


def _poll_until_gone(pid: int, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(_POLL_S)
    return False
