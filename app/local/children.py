"""A child process of the launcher: its output prefixed with its name, its end bounded, its life tied to ours."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

Write = Callable[[str], None]

_PR_SET_PDEATHSIG = 1
_CHUNK_BYTES = 65_536
_LINE_BYTES = 8_192
_KEPT_LINES = 20
_DRAIN_S = 2


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run. `environment` is added to ours."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


class Child:
    """A running child."""

    def __init__(
        self, name: str, process: asyncio.subprocess.Process, output: asyncio.StreamReader, write: Write
    ) -> None:
        self.name = name
        self.last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._process = process
        self._write = write
        self._reading = asyncio.create_task(self._read(output), name=f"output of {name}")

    @classmethod
    async def start(cls, spec: ChildSpec, write: Write) -> Child:
        """Starts it in a session of its own, so that a terminal's Ctrl-C reaches only us. Raises `OSError`.

        The pipe is ours, not asyncio's: there, a child counts as ended only once its own children let go of it.
        """
        parent = os.getpid()
        reading, writing = os.pipe()
        output = await _reader(reading)
        try:
            process = await asyncio.create_subprocess_exec(
                *spec.argv,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **spec.environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: _end_with(parent),
            )
        finally:
            os.close(writing)
        return cls(spec.name, process, output, write)

    async def wait(self) -> int:
        """Its exit code, once its output has been read to the end."""
        code = await self._process.wait()
        await asyncio.wait([self._reading], timeout=_DRAIN_S)  # a grandchild may hold the pipe open
        self._reading.cancel()
        return code

    async def stop(self, grace_s: float) -> None:
        """Asks it to end, ends it after `grace_s`, and whatever it left in its session."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), grace_s)
        except TimeoutError:
            self._write(f"{self.name} did not end within {grace_s:.0f} s and is killed.")
        self.kill()
        await self.wait()

    def kill(self) -> None:
        """Ends it and its own children at once."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _read(self, output: asyncio.StreamReader) -> None:
        rest = b""
        while chunk := await output.read(_CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._print(line)
            if len(rest) > _LINE_BYTES:
                self._print(rest)
                rest = b""
        if rest:
            self._print(rest)

    def _print(self, line: bytes) -> None:
        text = line[:_LINE_BYTES].decode(errors="replace").rstrip("\r")
        self.last_lines.append(text)
        self._write(f"{self.name:<10} | {text}")


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader


def _end_with(parent: int) -> None:
    """In the child, before it runs: ask Linux to end it when the launcher dies, however that happens."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)  # the launcher died between fork and here
