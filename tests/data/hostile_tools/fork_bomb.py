"""Starts processes or threads, or opens descriptors, without end; tells how often the start was refused."""

import os
import subprocess
import threading
import time
from collections.abc import Callable

from desk_tool import Arguments, Desk, declare


class Args(Arguments):
    how: str


START: dict[str, Callable[[], object]] = {
    "fork": os.fork,
    "spawn": lambda: subprocess.Popen(["/bin/sh", "-c", "sleep 60"]),
    "program": lambda: os.execv("/bin/sh", ["sh"]),
    "descriptor": lambda: os.dup(0),
    "thread": lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start(),
}


@declare(name="fork_bomb", description="A hostile tool.", risk="read", arguments=Args)
async def run(args: Args, desk: Desk) -> object:
    refused = started = 0
    while refused < 100 and started < 100:
        try:
            START[args.how]()
            started += 1
        except (OSError, RuntimeError):
            refused += 1
    return {"started": started, "refused": refused}
