"""Web processes as `desk web` runs them, on one database: to be killed, or to work side by side."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.core.settings import Settings
from app.desk import Desk
from app.local.ports import free_port
from tests.conftest import CAST

ROOT = Path(__file__).resolve().parents[2]
WAIT_S, START_S = 30.0, 60.0
JWT_SECRET, COOKIE_SECRET = "chaos-" + "j" * 40, "chaos-" + "c" * 40
_PORTS_TRIED = 5

QUICK = {"AGENT_LEASE_MS": "600", "AGENT_SWEEP_INTERVAL_MS": "200"}
"""A dead process is noticed within a second."""


async def until(holds: Callable[[], Awaitable[bool]], timeout_s: float = WAIT_S) -> None:
    """Asks `holds` every 20 ms until it says yes. Raises `TimeoutError`."""
    async with asyncio.timeout(timeout_s):
        while not await holds():  # noqa: ASYNC110 - another process writes; there is no event to await
            await asyncio.sleep(0.02)


class PortLost(Exception):
    """Somebody took the free port before the process did."""


@dataclass
class WebProcess:
    """A running web process and its address."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    async def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        await asyncio.to_thread(self.process.wait, 10)

    async def is_ready(self) -> bool:
        """Whether it, and nobody else on its port, answers `/ready`. Raises `PortLost`, `AssertionError` at its end."""
        if self.process.poll() is not None:
            told = self.log.read_text()
            raise PortLost if "is in use" in told else AssertionError(f"the web process ended: {told[-2000:]}")
        if f"[{self.process.pid}]" not in self.log.read_text():
            return False  # it says its id once the port is its own
        return await answers(self.url, "/ready")


def environment(settings: Settings, port: int) -> dict[str, str]:
    """The settings of a test as a process gets them. Secrets stay the same over restarts."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        "APP_ENV": "test",
        "PORT": str(port),
        "MONGODB_URI": settings.mongodb_uri,
        "MONGODB_DB": settings.mongodb_db,
        "REDIS_URL": settings.redis_url,
        "JWT_SECRET": JWT_SECRET,
        "COOKIE_SECRET": COOKIE_SECRET,
        "RATE_LIMIT_MAX": "100000",
        "RATE_LIMIT_LOGIN_MAX": "1000",
        "AI_RATE_LIMIT_MAX": "1000",
        "AI_ENABLED": "true",
        "AI_ALLOW_LOCAL_PROVIDER": "true",
        "AI_BASE_URL": settings.ai_base_url,
        "CONNECTIONS_DIR": str(settings.connections_dir),
        "CUSTOM_TOOLS_DIR": str(settings.custom_tools_dir),
        "AI_MODEL": "demo",
        "LOG_LEVEL": "info",
        **QUICK,
    }


@asynccontextmanager
async def web_process(settings: Settings, folder: Path, **changes: str) -> AsyncIterator[WebProcess]:
    """`desk web` with these settings, once it is ready; killed at the end if it still runs."""
    started = await _started(settings, folder, changes)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            await started.kill()


async def _started(settings: Settings, folder: Path, changes: dict[str, str]) -> WebProcess:
    for _ in range(_PORTS_TRIED):
        web = await asyncio.to_thread(_spawned, settings, folder, changes)
        try:
            await until(web.is_ready, START_S)
        except PortLost:
            continue
        except BaseException:
            await web.kill()
            raise
        return web
    raise AssertionError(f"no port could be kept in {_PORTS_TRIED} tries")


def _spawned(settings: Settings, folder: Path, changes: dict[str, str]) -> WebProcess:
    port = free_port()
    log = folder / f"web-{port}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "web"],
            cwd=folder,
            env={**environment(settings, port), **changes},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return WebProcess(process, f"http://127.0.0.1:{port}", log)


async def sign_in(desk: Desk, url: str, who: str) -> httpx.AsyncClient:
    """A client of one of the standing cast, signed in at `url`. The caller closes it."""
    email, password, name, role = CAST[who]
    await desk.accounts.accounts.ensure_user(email, password, name, role)  # type: ignore[arg-type]
    client = httpx.AsyncClient(base_url=url, timeout=20, trust_env=False)
    answer = await client.post("/api/v1/auth/login", json={"email": email, "password": password})
    assert answer.status_code == 200, answer.text
    return client


async def answers(url: str, path: str = "/health") -> bool:
    """Whether a desk answers 200 at `url`; at `/ready` only with its stores."""
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        try:
            return (await client.get(url + path)).status_code == 200
        except httpx.TransportError:
            return False
