"""The worker process: `desk worker` (D-24). It opens the desk, works until a stop signal, and ends well."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from app.core.logging import configure_logging
from app.core.settings import Settings
from app.desk import open_desk
from app.local.signals import stop_signals
from worker.work import work


def run(settings: Settings) -> None:
    """Blocks until SIGINT, SIGTERM or SIGHUP; a second signal changes nothing, the stop is bounded anyway.

    Raises what keeps the desk from opening (`ValueError`, a database that does not answer).
    """
    configure_logging(settings.log_level, as_json=settings.is_production)
    logging.getLogger("arq.worker").setLevel(logging.WARNING)  # two lines for every nudge otherwise
    with _handlers_kept():
        asyncio.run(_until_stopped(settings))


async def _until_stopped(settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in stop_signals():
        loop.add_signal_handler(number, stop.set)
    async with open_desk(settings) as desk:
        await work(desk, stop)


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Gives the signals back to whoever handled them: the loop leaves them at their defaults."""
    before = {number: signal.getsignal(number) for number in stop_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
