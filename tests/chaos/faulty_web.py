"""A program that forks web processes which die with -9 in the middle of a run: after the n-th thing they brought about.

Reads lines `<port> <n>` and answers each with the child's process id. A child serves the desk on `port` with the
settings of the environment; it ends itself right after the n-th write to MongoDB, event to Redis or request to the
provider that belongs to a turn of the copilot (starting it, working on it, deciding). 0 never dies.
Everything is imported once: a child is there in a moment.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import httpx
import uvicorn
from pymongo.asynchronous.collection import AsyncCollection
from redis.asyncio import Redis

from app.copilot.approvals import Approvals
from app.copilot.engine import RunEngine
from app.copilot.service import CopilotService
from app.core.settings import load_settings
from app.main import create_app

Method = Callable[..., Awaitable[Any]]

_in_a_turn: ContextVar[bool] = ContextVar("in_a_turn", default=False)
_WRITES = ("find_one_and_update", "update_one", "insert_one", "insert_many")


class Fuse:
    """Counts what a turn brings about, and burns through at `after`."""

    def __init__(self, after: int) -> None:
        self._left = after

    def counted(self, owner: type, name: str) -> None:
        original: Method = getattr(owner, name)

        async def method(*args: Any, **kwargs: Any) -> Any:
            try:
                return await original(*args, **kwargs)
            finally:
                self._burn()

        setattr(owner, name, method)

    def _burn(self) -> None:
        if not _in_a_turn.get():
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def marked(owner: type, name: str) -> None:
    """What `name` does, and all tasks that it starts, belong to a turn."""
    original: Method = getattr(owner, name)

    async def method(*args: Any, **kwargs: Any) -> Any:
        _in_a_turn.set(True)
        return await original(*args, **kwargs)

    setattr(owner, name, method)


def serve(port: int, fault_at: int) -> None:
    """The child's life."""
    fuse = Fuse(fault_at)
    for name in _WRITES:
        fuse.counted(AsyncCollection, name)
    fuse.counted(Redis, "evalsha")
    fuse.counted(httpx.AsyncClient, "send")
    marked(CopilotService, "send")
    marked(Approvals, "decide")
    marked(RunEngine, "_drive")
    app = create_app(load_settings(_env_file=None))
    uvicorn.run(app, host="127.0.0.1", port=port, log_config=None, access_log=False, timeout_graceful_shutdown=1)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    for line in sys.stdin:
        port, fault_at = map(int, line.split())
        child = os.fork()
        if child == 0:
            serve(port, fault_at)
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
