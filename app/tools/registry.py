"""The tools there are. A name that is not here is never dispatched (T-3)."""

from __future__ import annotations

from collections.abc import Iterable

from app.llm.port import ToolSpec
from app.tools.arguments import json_schema
from app.tools.policy import CallContext, decide
from app.tools.tool import Tool


class ToolRegistry:
    """Tools by name; what a person's model is offered is what the gate would let through."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.policy.name in self._tools:
                raise ValueError(f"Tool {tool.policy.name} is registered twice.")
            self._tools[tool.policy.name] = tool

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> frozenset[str]:
        """Every registered tool."""
        return frozenset(self._tools)

    def offered(self, context: CallContext) -> tuple[ToolSpec, ...]:
        """The tools that the model sees in `context`, in a fixed order."""
        return tuple(
            ToolSpec(tool.policy.name, tool.description, json_schema(tool.arguments))
            for tool in self._tools.values()
            if decide(tool.policy, context).blocked is None
        )
