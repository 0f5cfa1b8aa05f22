"""Approval is a wrapper around a tool: a read that the gate put on confirm is staged and executed like a write."""

from __future__ import annotations

from typing import Any

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.tools.arguments import Arguments
from app.tools.policy import ToolPolicy
from app.tools.tool import Executed, ReadTool, Staged, Tool, WriteTool


class ConfirmedRead:
    """Waits for the person's word, then reads. Read again after a crash, it does no harm."""

    def __init__(self, tool: ReadTool) -> None:
        self._tool = tool

    @property
    def policy(self) -> ToolPolicy:
        return self._tool.policy

    @property
    def description(self) -> str:
        return self._tool.description

    @property
    def arguments(self) -> type[Arguments]:
        return self._tool.arguments

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:  # noqa: ARG002
        frozen: dict[str, Any] = args.frozen_args()
        return Staged(frozen, call_id, None, None, frozen, self.policy.prompt or f"Run {self.policy.name}")

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:  # noqa: ARG002
        answer = await self._tool.read(actor, self.arguments.model_validate(staged.args))
        return Executed(answer.text, None, answer.reads)


def staged_by(tool: Tool) -> WriteTool:
    """What stages and executes `tool`: itself, or the wrapper around a read."""
    return tool if isinstance(tool, WriteTool) else ConfirmedRead(tool)
