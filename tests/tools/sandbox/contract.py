"""What every custom tool must pass: run it over a module with `check_contract` (T-11)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from app.tools.sandbox.description import ToolDescription
from app.tools.sandbox.errors import ToolRefused
from app.tools.sandbox.narrow_client import Answer
from app.tools.sandbox.sandbox import Sandbox


async def check_contract(sandbox: Sandbox, module: Path, answer: Answer) -> list[Any]:
    """The results of the tool's own `examples`, each run once; fails where the module breaks a rule."""
    described = await sandbox.describe(module)
    assert described == await sandbox.describe(module), "it describes itself differently the second time"
    await _refuses_what_it_does_not_know(sandbox, module, described)
    results = []
    for example in described.parameters.get("examples", []):
        accepted = await sandbox.validate(module, example)
        assert await sandbox.validate(module, accepted) == accepted, "what it accepted it does not accept again"
        result = await sandbox.run(module, accepted, answer)
        assert json.loads(json.dumps(result, allow_nan=False)) == result
        results.append(result)
    assert results, "its argument model gives no example: json_schema_extra={'examples': [...]}"
    imported = [name for name, loaded in list(sys.modules.items()) if getattr(loaded, "__file__", "") == str(module)]
    assert imported == [], "it was imported outside of the sandbox"
    return results


async def _refuses_what_it_does_not_know(sandbox: Sandbox, module: Path, described: ToolDescription) -> None:
    assert described.parameters["type"] == "object"
    assert described.parameters["additionalProperties"] is False
    undescribed = [name for name, field in described.parameters["properties"].items() if "description" not in field]
    assert undescribed == [], "arguments without a description: the model would have to guess"
    with pytest.raises(ToolRefused, match="no_such_field"):
        await sandbox.validate(module, {"no_such_field": 1})
