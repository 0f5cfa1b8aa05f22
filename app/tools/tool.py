"""What a tool is: a policy, an argument schema, and either a read or a staged write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.tools.arguments import Arguments
from app.tools.policy import ToolPolicy


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a read gives: the text for the model and the record, how many were found, and the orders it saw.

    `reads` maps order id → version: the run's seen ids (target-id pinning, 003 §4.3).
    """

    text: str
    found: int | None = None
    reads: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Staged:
    """A write as it will run, with the order as it was read (D-8). `target` is fixed here for creations too (D-5)."""

    args: dict[str, Any]
    target: ObjectId
    version: int | None
    pre_image: dict[str, Any] | None
    after_diff: dict[str, Any]
    summary: str


@dataclass(frozen=True, slots=True)
class Executed:
    """The effect of a write: what the model and the record get, and the version it made."""

    result: dict[str, Any]
    version: int | None


class ToolFault(Exception):
    """The tool cannot do this as asked: `message` is a plain sentence for the model and the record."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class StaleTarget(Exception):
    """The order changed after the proposal was shown: nothing ran (D-7)."""


class GoneTarget(Exception):
    """The order is no longer there: nothing ran (D-7)."""


class ReadTool(Protocol):
    """Runs inline, changes nothing."""

    policy: ToolPolicy
    description: str

    @property
    def arguments(self) -> type[Arguments]: ...

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:
        """Raises `ToolFault`."""
        ...


class WriteTool(Protocol):
    """Is staged, shown, decided, then executed once."""

    policy: ToolPolicy
    description: str

    @property
    def arguments(self) -> type[Arguments]: ...

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:
        """Reads the target anew and says what would happen. Raises `ToolFault`, `GoneTarget`."""
        ...

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:
        """Does it, recognising its own earlier effect (D-5). Raises `StaleTarget`, `GoneTarget`, `ToolFault`."""
        ...


Tool = ReadTool | WriteTool
