"""What a tool is: a policy, an argument schema, and either a read or a staged write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

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
    """The effect of a write: what the model and the record get, and the version it made.

    `reads` maps the orders that the result shows to their versions.
    """

    result: Any
    version: int | None
    reads: dict[str, int] = field(default_factory=dict)


class ToolFault(Exception):
    """The tool cannot do this as asked: `message` is a plain sentence for the model and the record."""

    def __init__(self, message: str, code: str = "TOOL_FAULT") -> None:
        self.message = message
        self.code = code
        super().__init__(message)


class StaleTarget(Exception):
    """The order changed after the proposal was shown: nothing ran (D-7)."""


class GoneTarget(Exception):
    """The order is no longer there: nothing ran (D-7)."""


@runtime_checkable
class ReadTool(Protocol):
    """Runs inline, changes nothing."""

    @property
    def policy(self) -> ToolPolicy: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments(self) -> type[Arguments]: ...

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:
        """Raises `ToolFault`."""
        ...


@runtime_checkable
class WriteTool(Protocol):
    """Is staged, shown, decided, then executed once."""

    @property
    def policy(self) -> ToolPolicy: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments(self) -> type[Arguments]: ...

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:
        """Reads the target anew and says what would happen. Raises `ToolFault`, `GoneTarget`."""
        ...

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:
        """Does it, recognising its own earlier effect (D-5). Raises `StaleTarget`, `GoneTarget`, `ToolFault`."""
        ...


Tool = ReadTool | WriteTool


@runtime_checkable
class HasOwnPolicies(Protocol):
    """A tool whose policy depends on what it is asked: `request`, by connection and endpoint (T-9, T-10)."""

    def policy_of(self, args: Arguments) -> ToolPolicy:
        """The policy of this very call. What is not known is never allowed."""
        ...

    def names_of(self, args: Arguments) -> tuple[str, ...]:
        """The names under which an admin may have raised what this call means."""
        ...


@runtime_checkable
class HasOwnSchema(Protocol):
    """A tool that tells its argument schema itself: a custom tool, whose model lives in its sandbox (T-11)."""

    schema: dict[str, Any]


@runtime_checkable
class HasHandshake(Protocol):
    """A tool that is asked twice: first for a preview, then, once that is approved, for the effect (T-10)."""

    def is_confirmed(self, args: Arguments) -> bool:
        """Whether this is the second call."""
        ...

    def handshake(self, args: dict[str, Any]) -> dict[str, Any]:
        """What of frozen arguments both calls must have in common."""
        ...

    def confirmed(self, args: dict[str, Any]) -> dict[str, Any]:
        """The frozen arguments of the call that has the effect."""
        ...


@runtime_checkable
class RunsOnce(Protocol):
    """A tool whose effect cannot be recognised afterwards: at most once, whatever dies (D-5, T-10)."""

    def runs_once(self, args: dict[str, Any]) -> bool:
        """Whether a call with these frozen arguments must never be tried again."""
        ...


def names_of(tool: Tool, args: Arguments) -> tuple[str, ...]:
    """Under which names `tool` with `args` may have been raised."""
    return (tool.policy.name, *(tool.names_of(args) if isinstance(tool, HasOwnPolicies) else ()))


def policy_of(tool: Tool, args: Arguments) -> ToolPolicy:
    """The policy under which `tool` would run with `args`."""
    return tool.policy_of(args) if isinstance(tool, HasOwnPolicies) else tool.policy
