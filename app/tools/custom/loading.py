"""The custom tools of a folder, described in the sandbox at boot; a bad one fails the boot (T-11)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from app.core.logging import get_logger
from app.core.settings import SettingsError
from app.tools.custom.client import ToolClient
from app.tools.custom.tool import CustomTool
from app.tools.sandbox.description import ToolDescription
from app.tools.sandbox.errors import BadTool, SandboxUnavailable
from app.tools.sandbox.folder import tool_modules
from app.tools.sandbox.sandbox import Sandbox

log = get_logger(__name__)

_MOST = 50


class CustomToolFault(SettingsError):
    """Custom tools that cannot be used: one plain line per fault, with file and line of the module."""


@dataclass(frozen=True, slots=True)
class CustomModules:
    """What the folder holds, and the sandbox that it runs in; None where it holds nothing."""

    sandbox: Sandbox | None = None
    described: tuple[tuple[Path, ToolDescription], ...] = ()

    def tools(self, client: ToolClient, taken: Collection[str]) -> list[CustomTool]:
        """The tools, answering through `client`. Raises `CustomToolFault` for a name that is `taken`, or twice."""
        if self.sandbox is None:
            return []
        names, faults = set(taken), []
        for module, described in self.described:
            if described.name in names:
                faults.append(f"{module}:1: a tool named {described.name} is there already; choose another name")
            names.add(described.name)
        if faults:
            raise CustomToolFault(faults)
        return [
            CustomTool(module, described, self.sandbox, client, source=f"{module.parent.name}/{module.name}")
            for module, described in self.described
        ]


async def describe_modules(folder: Path, *, lenient: bool) -> CustomModules:
    """Every tool of `folder`; `_private.py` is none. Raises `CustomToolFault`: bad modules, no sandbox to run in.

    `lenient` (development and test) runs them where there is no Landlock too.
    """
    modules = await asyncio.to_thread(tool_modules, folder)
    if not modules:
        return CustomModules()
    if len(modules) > _MOST:
        raise CustomToolFault([f"{folder}: holds {len(modules)} tools; {_MOST} are allowed"])
    sandbox = await asyncio.to_thread(_sandbox, folder, lenient)
    described: list[tuple[Path, ToolDescription]] = []
    faults: list[str] = []
    for module in modules:
        try:
            described.append((module, await sandbox.describe(module)))
        except BadTool as bad:
            faults.append(str(bad))
    if faults:
        raise CustomToolFault(faults)
    log.info("custom_tools", held=sandbox.holds.line, tools=[tool.name for _, tool in described])
    return CustomModules(sandbox, tuple(described))


def _sandbox(folder: Path, lenient: bool) -> Sandbox:
    try:
        sandbox = Sandbox()
    except SandboxUnavailable as fault:
        raise CustomToolFault([f"{folder}: custom tools cannot run here: {fault.message}"]) from None
    if not sandbox.holds.complete and not lenient:
        raise CustomToolFault([f"{folder}: refused outside development and test. {sandbox.holds.line}"])
    return sandbox
