"""The modules of `custom_tools/`: found, never imported."""

from __future__ import annotations

from pathlib import Path


def tool_modules(folder: Path) -> list[Path]:
    """Each `*.py` directly in `folder` whose name does not begin with `_`, by name; none where there is no folder."""
    return sorted(path.resolve() for path in folder.glob("*.py") if not path.name.startswith("_"))
