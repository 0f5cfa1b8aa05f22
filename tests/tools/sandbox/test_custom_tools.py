"""The tools in `custom_tools/`: the contract for each, and what the two examples answer (T-11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.tools.sandbox.errors import ToolFailed
from app.tools.sandbox.folder import tool_modules
from app.tools.sandbox.sandbox import Sandbox
from tests.tools.sandbox.conftest import ORDER_ID, one_order
from tests.tools.sandbox.contract import check_contract

FOLDER = Path(__file__).parents[3] / "custom_tools"
CONVERSION, SUMMARY = FOLDER / "unit_conversion.py", FOLDER / "open_work_summary.py"


@pytest.mark.parametrize("module", tool_modules(FOLDER), ids=lambda module: module.stem)
async def test_every_custom_tool_passes_the_contract(strongest: Sandbox, module: Path) -> None:
    """T-11."""
    assert await check_contract(strongest, module, one_order)


def test_the_modules_of_a_folder_are_found(folder: Path) -> None:
    """T-11: in a fixed order; files of other kinds and private ones are no tools; no folder, no tools."""
    for name in ("b.py", "a.py", "_shared.py", "notes.txt", "__init__.py"):
        (folder / name).write_text("")
    assert [path.name for path in tool_modules(folder)] == ["a.py", "b.py"]
    assert tool_modules(folder / "absent") == []


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (58.0, "psi", "bar", 3.999),
        (1.0, "bar", "mH2O", 10.1972),
        (3.6, "m3/h", "l/min", 60.0),
        (10.0, "gpm", "l/min", 37.8541),
        (212.0, "degF", "degC", 100.0),
        (0.0, "K", "degF", -459.67),
    ],
)
async def test_a_reading_is_converted(strongest: Sandbox, value: float, unit: str, to: str, expected: float) -> None:
    """T-11: the pure example."""
    result = await strongest.run(CONVERSION, {"value": value, "unit": unit, "to": to}, one_order)
    assert result["value"] == expected


async def test_a_pressure_is_no_flow(strongest: Sandbox) -> None:
    """T-11."""
    with pytest.raises(ToolFailed, match="ValueError: psi is a pressure, gpm a flow"):
        await strongest.run(CONVERSION, {"value": 1.0, "unit": "psi", "to": "gpm"}, one_order)


async def test_the_summary_reads_through_its_client(strongest: Sandbox) -> None:
    """T-11: the example that reads orders asks for the caller's open ones, and for nothing else."""
    asked: list[tuple[str, dict[str, Any]]] = []

    async def answer(name: str, params: dict[str, Any]) -> Any:
        asked.append((name, params))
        return await one_order(name, params)

    result = await strongest.run(SUMMARY, {"priority": "high"}, answer)
    assert asked == [
        ("list_orders", {"status": "pending", "priority": "high"}),
        ("list_orders", {"status": "in_progress", "priority": "high"}),
    ]
    assert (result["open"], result["byPriority"], result["longestWaiting"]["id"]) == (1, {"high": 1}, ORDER_ID)
    assert (await strongest.run(SUMMARY, {"priority": None}, _no_orders))["longestWaiting"] is None


async def _no_orders(_name: str, _params: dict[str, Any]) -> Any:
    return []
