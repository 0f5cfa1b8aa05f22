"""Runs children side by side: all live, or none does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from app.local.children import Child, ChildSpec, Write
from app.local.errors import LocalServiceError
from app.local.signals import stop_signals

Ready = Callable[[], Awaitable[None]]


class Supervisor:
    """Starts children and watches them until a signal or the end of one of them. Used once.

    `write` takes each line of output; `grace_s` is how long a child may take to end before it is killed.
    """

    def __init__(self, write: Write, *, grace_s: float = 15) -> None:
        self._write = write
        self._grace_s = grace_s
        self._children: list[Child] = []
        self._asked_to_stop = asyncio.Event()

    async def run(self, children: Sequence[ChildSpec], *, before: Sequence[ChildSpec] = (), ready: Ready) -> int:
        """The exit code: 0 after SIGINT, SIGTERM or SIGHUP, else that of the child that ended (1 if it was 0).

        Each of `before` runs to its end first, with success. `ready` is awaited beside the children; what it
        raises as `LocalServiceError` stops them.
        """
        self._catch_signals()
        try:
            for spec in before:
                if (code := await self._run_to_end(spec)) != 0 or self._asked_to_stop.is_set():
                    return code
            for spec in children:
                self._children.append(await Child.start(spec, self._write))
            return await self._watch(ready)
        finally:
            await self._stop_all()

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in stop_signals():
            loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        """The first signal asks the children to end, a second one ends them."""
        if self._asked_to_stop.is_set():
            for child in self._children:
                child.kill()
        self._asked_to_stop.set()

    async def _run_to_end(self, spec: ChildSpec) -> int:
        child = await Child.start(spec, self._write)
        self._children.append(child)
        ended, stop = asyncio.create_task(child.wait()), asyncio.create_task(self._asked_to_stop.wait())
        await asyncio.wait({ended, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not ended.done():
            ended.cancel()
            return 0
        self._children.remove(child)
        if ended.result() != 0:
            self._report(child, ended.result())
        return ended.result()

    async def _watch(self, ready: Ready) -> int:
        """Waits for the first of the watched things that settles the exit code."""
        watched = [self._code_of_stop(), self._code_of_readiness(ready), *map(self._code_of_end, self._children)]
        waiting = {asyncio.create_task(each) for each in watched}
        try:
            while True:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                codes = [task.result() for task in done]
                if settled := [code for code in codes if code is not None]:
                    return min(settled)  # a stop that was asked for outweighs a child that ended with it
        finally:
            for task in waiting:
                task.cancel()

    async def _code_of_stop(self) -> int | None:
        await self._asked_to_stop.wait()
        return 0

    async def _code_of_readiness(self, ready: Ready) -> int | None:
        try:
            await ready()
        except LocalServiceError as error:
            self._write(str(error))
            return 1
        return None

    async def _code_of_end(self, child: Child) -> int | None:
        return self._report(child, await child.wait())

    def _report(self, child: Child, code: int) -> int:
        self._write(f"{child.name} ended with exit code {code}; the rest is stopped. Its last lines:")
        for line in child.last_lines:
            self._write(f"    {line}")
        return code if code > 0 else 1

    async def _stop_all(self) -> None:
        await asyncio.gather(*(child.stop(self._grace_s) for child in self._children))
