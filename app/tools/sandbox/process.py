"""One sandbox process: started, spoken to line by line, and ended with all that belongs to it, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

from app.core.strict_json import StrictJsonError, parse_object
from app.tools.sandbox.child.plan import Plan
from app.tools.sandbox.errors import ToolFailed
from app.tools.sandbox.start import ENVIRONMENT, command

_END_S = 2.0
_DEEPEST = 32
_ENVELOPE_BYTES = 1024
_CHUNK_BYTES = 65536


class SandboxProcess:
    """The desk's end of the pipe. Messages have at most `message_bytes`."""

    def __init__(self, process: asyncio.subprocess.Process, message_bytes: int) -> None:
        assert process.stdin is not None  # noqa: S101  # both are pipes: told to the type checker
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._writer = process.stdin
        self._reader = process.stdout
        self._limit = message_bytes

    async def send(self, line: bytes) -> None:
        """A process that is gone is no error here: the next `receive` tells."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._writer.write(line)
            await self._writer.drain()

    async def send_object(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(line) > self._limit:
            raise ToolFailed(f"The arguments are larger than {self._limit // 1024} kB.")
        await self.send(line)

    async def receive(self) -> dict[str, Any]:
        """The next message. Raises `ToolFailed` for anything that is none."""
        line = b"\n"
        while line == b"\n":
            try:
                line = await self._reader.readline()
            except ValueError:
                raise ToolFailed(f"It sent more than {self._limit // 1024} kB.") from None
        if not line:
            raise ToolFailed("It ended without a result.")
        try:
            return parse_object(line, max_bytes=self._limit, max_depth=_DEEPEST)
        except StrictJsonError as error:
            raise ToolFailed(f"What it sent is not acceptable: {error.reason}") from None


@contextlib.asynccontextmanager
async def sandbox_process(plan: Plan) -> AsyncIterator[SandboxProcess]:
    """Runs `plan`; at the end, also of a cancelled task, neither the process nor any child of it is left."""
    process = await asyncio.create_subprocess_exec(
        *command(plan),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=ENVIRONMENT,
        cwd=plan.scratch,
        start_new_session=True,
        limit=plan.message_bytes + _ENVELOPE_BYTES,
    )
    try:
        yield SandboxProcess(process, plan.message_bytes)
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """The keeper ends its child, then its whole group; should it not, the group is ended from here."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(_END_S):
            await _ended(process)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await _ended(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Reads away what is left: a transport that was paused at its limit would else never close its descriptor."""
    assert process.stdin is not None  # noqa: S101  # both are pipes: told to the type checker
    assert process.stdout is not None  # noqa: S101
    process.stdin.close()
    while await process.stdout.read(_CHUNK_BYTES):
        continue
    await process.wait()
