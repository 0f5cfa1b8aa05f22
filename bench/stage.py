"""Where it all runs: real MongoDB and Valkey in a folder of the bench's own, and each program in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.core.settings import Settings, load_settings
from app.local.ports import free_port
from app.local.services import start_services

ROOT = Path(__file__).resolve().parents[1]
START_S, STOP_S = 60.0, 15.0
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """What keeps the bench from going on, in one line."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The services in use, and the folder that holds their data and the logs of the programs."""

    folder: Path
    mongodb_uri: str
    redis_url: str

    def environment(self, database: str, port: int | None, extra: dict[str, str] | None = None) -> dict[str, str]:
        """The settings of a desk over `database`: as in production, but http and unlimited rates."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AI_", "AGENT_", "RATE_"))}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "APP_ENV": "test",
            "APP_URL": "",
            "HOST": "127.0.0.1",
            **({} if port is None else {"PORT": str(port)}),
            "LOG_LEVEL": "warning",
            "DESK_DIR": str(self.folder / "desk"),
            "MONGODB_URI": self.mongodb_uri,
            "MONGODB_DB": database,
            "REDIS_URL": self.redis_url,
            "RATE_LIMIT_MAX": "1000000",
            "RATE_LIMIT_LOGIN_MAX": "1000000",
            "AI_RATE_LIMIT_MAX": "1000000",
            "AI_ENABLED": "false",
            **(extra or {}),
        }

    def settings(self, database: str, **overrides: object) -> Settings:
        """The same for a desk inside this process."""
        values: dict[str, object] = {
            "app_env": "test",
            "log_level": "warning",
            "desk_dir": self.folder / "desk",
            "mongodb_uri": self.mongodb_uri,
            "mongodb_db": database,
            "redis_url": self.redis_url,
            "ai_enabled": False,
        }
        return load_settings(_env_file=None, **(values | overrides))


@dataclass(frozen=True, slots=True)
class Program:
    """A started program. `url` is empty for one that serves nothing."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    def require_well(self) -> None:
        """Raises `BenchError` when it ended with a fault."""
        if self.process.poll() not in (None, 0):
            raise BenchError(f"A program ended early; its log is {self.log}.")

    def cpu_s(self) -> float:
        """Processor time so far, user and system."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS

    def memory_kb(self) -> int:
        """What it holds in memory now."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """The services over the data of earlier runs in `folder`; they end with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    with start_services(folder) as services:
        yield Stage(folder, services.mongodb_uri, services.redis_url)


@contextmanager
def desk_web(at: Stage, database: str, **extra: str) -> Iterator[Program]:
    """`desk web` over `database`."""
    port = free_port()
    with started(at, "web", ["app.cli", "web"], at.environment(database, port, extra), port) as program:
        yield program


@contextmanager
def served(at: Stage, module: str, database: str = "bench") -> Iterator[Program]:
    """A module of the bench that serves HTTP on `PORT`."""
    port = free_port()
    with started(at, module, [module], at.environment(database, port), port) as program:
        yield program


@contextmanager
def started(
    at: Stage, name: str, command: list[str], environment: dict[str, str], port: int | None = None
) -> Iterator[Program]:
    """`python -m command…` in the bench's folder, healthy where it serves a port; its log beside the data."""
    log = at.folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=at.folder, env=environment, stdout=out, stderr=out
        )
        try:
            if port is not None:
                _wait_until_healthy(process, f"http://127.0.0.1:{port}", log)
            yield Program(process, f"http://127.0.0.1:{port}" if port else "", log)
        finally:
            _stop(process)


def _wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    with httpx.Client(base_url=url, trust_env=False, timeout=2) as client:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if client.get("/health").status_code == httpx.codes.OK:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
    raise BenchError(f"A program did not start; its log is {log}.")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)
