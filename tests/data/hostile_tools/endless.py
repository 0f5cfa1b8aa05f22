"""Never ends: sleeps, loops (deaf to the warning too), or prints."""

import asyncio
import signal
import sys

from desk_tool import Arguments, Desk, declare


class Args(Arguments):
    how: str


@declare(name="endless", description="A hostile tool.", risk="read", arguments=Args)
async def run(args: Args, desk: Desk) -> object:
    if args.how == "sleep":
        await asyncio.sleep(3600)
    if args.how == "deaf":
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while args.how in ("loop", "deaf"):
        pass
    while True:
        sys.stdout.write("x" * 10_000)
        sys.stderr.write("x" * 10_000)
