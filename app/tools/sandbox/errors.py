"""What can go wrong with a custom tool; each message is a plain sentence, bounded, without values of other people."""

from __future__ import annotations

from pathlib import Path


class BadTool(Exception):
    """The module is no tool: `file`, `line` and what to change. Fails the boot (T-11)."""

    def __init__(self, file: Path, line: int, message: str) -> None:
        self.file = file
        self.line = line
        self.message = message
        super().__init__(f"{file}:{line}: {message}")


class ToolRefused(Exception):
    """The arguments do not fit: `message` names fields and rules."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class ToolFailed(Exception):
    """The call ended without a result, by the tool's own fault or at a limit: `message` says which."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class SandboxUnavailable(Exception):
    """No sandbox can be set up on this machine: `message` says why."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)
