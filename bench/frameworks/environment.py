"""The virtual environment of the frameworks: made once in the bench's folder, never part of the project's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.stage import BenchError

PACKAGES = ("pydantic-ai-slim[openai]", "openai-agents", "pymongo>=4.20,<5")
_INSTALL_S, _RUN_S = 600.0, 120.0
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Framework:
    """`name` as people know it; `script` measures its step; `approval` is its own word for a call that must wait."""

    name: str
    script: str
    approval: str


FRAMEWORKS = (
    Framework("pydantic-ai", "pydantic_ai_step.py", "requires_approval"),
    Framework("openai-agents", "openai_agents_step.py", "needs_approval"),
)


def frameworks_python(folder: Path) -> Path:
    """The interpreter that has the frameworks. Raises `BenchError` when they cannot be installed."""
    home = folder / "frameworks"
    python, ready = home / "bin" / "python", home / "installed"
    if not ready.exists():
        print("  installing pydantic-ai and openai-agents beside the bench's data …", flush=True)
        _install(home, python)
        ready.touch()
    return python


def _install(home: Path, python: Path) -> None:
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True, timeout=_INSTALL_S)
        pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *PACKAGES]
        subprocess.run(pip, check=True, timeout=_INSTALL_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        raise BenchError("The frameworks could not be installed. Is the package index within reach?") from None


def step_ms(python: str, framework: Framework, environment: dict[str, str]) -> float:
    """The milliseconds of one tool step there, in a fresh process."""
    done = subprocess.run(
        [python, str(_HERE / framework.script)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"{framework.name} failed: {done.stderr.strip().splitlines()[-1:]}")
    return float(json.loads(done.stdout))
