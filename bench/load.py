"""HTTP load with wrk: requests per second, and how long one takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.stage import BenchError

_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
_TIMEOUT_S, _MARGIN_S = 10, 30


@dataclass(frozen=True, slots=True)
class Load:
    """What wrk saw: answers per second, and half of them within `p50_ms`."""

    per_second: float
    p50_ms: float


def require_wrk() -> str:
    """Its path. Raises `BenchError` with what to do."""
    found = shutil.which("wrk")
    if found is None:
        raise BenchError("wrk was not found. Install it: apt-get install wrk (macOS: brew install wrk)")
    return found


def wrk(url: str, seconds: float, connections: int, headers: dict[str, str], script: str = "") -> Load:
    """Loads `url` for `seconds`. With a Lua `script`, each connection has a thread of its own.

    Raises `BenchError` when any answer was no success, or none came at all.
    """
    threads = connections if script else 1
    command = [require_wrk(), f"-t{threads}", f"-c{connections}", f"-d{max(1, round(seconds))}s"]
    command += ["--latency", f"--timeout={_TIMEOUT_S}s"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    with tempfile.TemporaryDirectory() as folder:
        if script:
            path = Path(folder) / "load.lua"
            path.write_text(script)
            command += ["-s", str(path)]
        done = subprocess.run([*command, url], capture_output=True, text=True, timeout=seconds + _MARGIN_S, check=False)
    return _read(done.stdout + done.stderr)


def _read(output: str) -> Load:
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    half = re.search(r"^\s+50%\s+([\d.]+)(us|ms|s|m)\s*$", output, re.MULTILINE)
    if rate is None or half is None or float(rate[1]) == 0:
        raise BenchError(f"wrk reported nothing: {output.strip()[:300]}")
    if fault := re.search(r"(Non-2xx.*|Socket errors:.*)", output):
        raise BenchError(f"wrk met failures ({fault[1]}): the figures would mean nothing.")
    return Load(float(rate[1]), float(half[1]) * _UNITS[half[2]])
