"""The tools there are. A name that is not here is never dispatched (T-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.tools.tool import Tool


class ToolRegistry:
    """Tools by name, in the order in which the model sees them."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        self.add(tools)

    def add(self, tools: Iterable[Tool]) -> None:
        """While the desk is put together. Raises `ValueError` for a name that is there already."""
        for tool in tools:
            if tool.policy.name in self._tools:
                raise ValueError(f"Tool {tool.policy.name} is registered twice.")
            self._tools[tool.policy.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> frozenset[str]:
        """Every registered tool."""
        return frozenset(self._tools)
