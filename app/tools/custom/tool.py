"""A custom tool as the gate and the model meet it: described at boot, run in its sandbox, nowhere else (T-11)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, ClassVar

from bson import ObjectId
from pydantic import BeforeValidator, model_validator

from app.accounts.actors import HumanActor
from app.tools.arguments import Arguments
from app.tools.custom.client import ToolClient
from app.tools.json_values import bounded_json
from app.tools.policy import Risk, ToolPolicy
from app.tools.sandbox.description import ToolDescription
from app.tools.sandbox.errors import ToolFailed, ToolRefused
from app.tools.sandbox.sandbox import Sandbox
from app.tools.tool import Executed, ReadResult, Staged, ToolFault
from app.tools.trimming import cut_text


class RawArguments(Arguments):
    """What the model said, as it said it: the tool's own model, in its sandbox, is what checks it."""

    values: Annotated[dict[str, Any], BeforeValidator(bounded_json)]

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        return {"values": given}

    def frozen_args(self) -> dict[str, Any]:
        """A copy: nobody can change what was frozen."""
        copied: dict[str, Any] = json.loads(json.dumps(self.values))
        return copied


class CustomTool:
    """Reads at once where the gate lets it; else staged, shown and decided like a write.

    It has no effect outside of its result, so running it again after a crash does no harm.
    """

    arguments: ClassVar[type[Arguments]] = RawArguments

    def __init__(
        self, module: Path, described: ToolDescription, sandbox: Sandbox, client: ToolClient, *, source: str
    ) -> None:
        self._module = module
        self._digest = _digest(module)
        self._sandbox = sandbox
        self._client = client
        self.description = described.description
        self.schema = described.parameters
        self.policy = ToolPolicy(
            name=described.name,
            risk=described.risk,
            mutates=described.risk is not Risk.READ,
            exposure=described.exposure,
            llm_callable=described.llm_callable,
            prompt=described.prompt,
            reason=described.reason,
            source=source,
        )

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:
        """Runs it. Raises `ToolFault`."""
        return ReadResult(await self._run(actor, args.frozen_args()))

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:  # noqa: ARG002
        """The arguments as its own model takes them, defaults filled in: what is shown is what runs (D-8)."""
        self._require_unchanged()
        try:
            frozen = bounded_json(await self._sandbox.validate(self._module, args.frozen_args()))
        except (ToolRefused, ValueError) as fault:
            raise ToolFault(f"The arguments do not fit the tool. {fault}") from None
        return Staged(frozen, call_id, None, None, frozen, self.policy.prompt or f"Run {self.policy.name}")

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:  # noqa: ARG002
        """Runs it with what was approved. Raises `ToolFault`."""
        return Executed(await self._run(actor, staged.args), None)

    async def _run(self, actor: HumanActor, args: dict[str, Any]) -> str:
        self._require_unchanged()
        try:
            result = await self._sandbox.run(self._module, args, self._client.answering(actor))
            return cut_text(json.dumps(bounded_json(result), ensure_ascii=False, separators=(",", ":")))
        except (ToolFailed, ValueError) as fault:
            raise ToolFault(f"{self.policy.name} did not work. {fault}", "TOOL_FAILED") from None

    def _require_unchanged(self) -> None:
        """What was described at boot, and is judged by that, is what runs."""
        if _digest(self._module) != self._digest:
            raise ToolFault(f"{self.policy.name} was changed after the desk started. It runs again after a restart.")


def _digest(module: Path) -> str:
    try:
        return hashlib.sha256(module.read_bytes()).hexdigest()
    except OSError:
        return ""
