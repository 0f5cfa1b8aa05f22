"""The door to custom tools: describe, validate and run a module without ever importing it here (T-11)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from app.tools.sandbox.description import ToolDescription
from app.tools.sandbox.errors import BadTool, ToolFailed, ToolRefused
from app.tools.sandbox.limits import Limits
from app.tools.sandbox.narrow_client import Answer, reply
from app.tools.sandbox.process import SandboxProcess, sandbox_process
from app.tools.sandbox.protection import Protection, probe
from app.tools.sandbox.start import plan, scratch_folder

_LONGEST_MESSAGE = 300
_ENDED = {
    "cpu": "It used more than {cpu_s} s of CPU time and was stopped.",
    "SIGKILL": "It was killed: the machine ran out of memory.",
    "scratch": "It filled its scratch folder ({scratch_bytes} bytes, {scratch_files} files) and was stopped.",
    "time": "It took longer than {wall_s:g} s and was stopped.",
    "exit": "It ended without a result.",
}


class Sandbox:
    """Runs custom tools, at most `limits.concurrent` at once. Whatever a tool does, the desk goes on.

    `namespaces=False` leaves the kernel's namespaces alone. The constructor tries out what this machine gives and
    blocks for it (about 0.3 s); it raises `SandboxUnavailable`.
    """

    def __init__(self, *, limits: Limits | None = None, namespaces: bool = True) -> None:
        self._limits = limits or Limits()
        self._holds = probe(self._limits, namespaces=namespaces)
        self._slots = asyncio.Semaphore(self._limits.concurrent)

    @property
    def holds(self) -> Protection:
        """The protections of every call on this machine; where they are not `complete`, refuse custom tools."""
        return self._holds

    async def describe(self, module: Path) -> ToolDescription:
        """What `module` declares. Raises `BadTool` with its file and line."""
        try:
            verb, value = await self._call(module, "describe", None, _no_answer)
        except ToolFailed as failed:
            raise BadTool(module, 1, f"could not be loaded: {failed.message}") from None
        if verb == "bad":
            raise BadTool(module, *_place(value))
        try:
            return ToolDescription.model_validate(value if verb == "described" else None)
        except ValidationError as error:
            fields = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}))
            raise BadTool(module, 1, f"describes itself wrongly: {fields or 'no description'}") from None

    async def validate(self, module: Path, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the tool's model takes them, defaults filled in. Raises `ToolRefused`."""
        try:
            verb, value = await self._call(module, "validate", args, _no_answer)
        except ToolFailed as failed:
            raise ToolRefused(failed.message) from None
        if verb == "done" and isinstance(value, dict):
            return value
        raise ToolRefused(_sentence(value) if verb == "refused" else _told(verb, value))

    async def run(self, module: Path, args: dict[str, Any], answer: Answer) -> Any:
        """The tool's JSON result. `answer` speaks for the caller. Raises `ToolFailed` for every failure of the tool."""
        verb, value = await self._call(module, "run", args, answer)
        if verb != "done":
            raise ToolFailed(_told(verb, value))
        return value

    async def _call(self, module: Path, do: str, args: dict[str, Any] | None, answer: Answer) -> tuple[str, Any]:
        """The last message of the conversation: its verb and what it says. Raises `ToolFailed`."""
        path = _real(module)
        async with self._slot(), self._process(path) as process:
            try:
                async with asyncio.timeout(self._limits.wall_s):
                    await process.send_object({"do": do, "module": str(path), "args": args})
                    verb, value = await self._converse(process, answer)
            except TimeoutError:
                verb, value = "ended", "time"
        if verb == "ended":
            text = _ENDED.get(str(value), "It ended abruptly ({value}).")
            raise ToolFailed(text.format(**dataclasses.asdict(self._limits), value=_sentence(value)))
        return verb, value

    async def _converse(self, process: SandboxProcess, answer: Answer) -> tuple[str, Any]:
        for _ in range(self._limits.questions + 1):
            message = await process.receive()
            if "ask" not in message:
                verb, value = next(iter(message.items()), ("nothing", None))
                return verb, value
            await process.send(await reply(answer, message["ask"], message.get("with"), self._limits.message_bytes))
        raise ToolFailed(f"It asked the desk more than {self._limits.questions} times.")

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._limits.queue_s):
                await self._slots.acquire()
        except TimeoutError:
            raise ToolFailed("Too many custom tools run at once. Try again in a moment.") from None
        try:
            yield
        finally:
            self._slots.release()

    @asynccontextmanager
    async def _process(self, module: Path) -> AsyncIterator[SandboxProcess]:
        held = self._holds
        with scratch_folder() as scratch:
            wanted = plan(self._limits, scratch, module, namespaces=held.namespaces, own_user=held.own_user)
            wanted = dataclasses.replace(wanted, landlock=held.landlock > 0, seccomp=held.seccomp)
            async with sandbox_process(wanted) as process:
                yield process


def _real(module: Path) -> Path:
    """Without symbolic links: the path is shown in the sandbox as it is."""
    return module.resolve()


async def _no_answer(_name: str, _params: dict[str, Any]) -> NoReturn:
    raise ToolFailed("It asked the desk while it was loaded.")


def _place(value: object) -> tuple[int, str]:
    line = value.get("line") if isinstance(value, dict) else None
    message = value.get("message") if isinstance(value, dict) else None
    return line if isinstance(line, int) and line > 0 else 1, _sentence(message)


def _told(verb: str, value: object) -> str:
    if verb == "bad":
        return f"The module no longer loads: line {_place(value)[0]}: {_place(value)[1]}"
    if verb == "refused":
        return f"The arguments do not fit: {_sentence(value)}"
    if verb == "broken":
        return f"The sandbox could not be set up: {_sentence(value)}"
    return _sentence(value) if verb == "failed" else "What it sent is not acceptable: an unknown message."


def _sentence(value: object) -> str:
    """Printable text of one line and of bounded length, whatever the tool made of it."""
    text = "".join(char if char.isprintable() else " " for char in str(value)[: _LONGEST_MESSAGE + 1])
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"
