"""Web processes as `desk web` runs them, to be killed: one database, one address after the other."""

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
WAIT_S = 30.0
AS_INSTALLED = ("-m", "app.cli", "web")

QUICK = {"AGENT_LEASE_MS": "600", "AGENT_SWEEP_INTERVAL_MS": "200"}
"""A dead process is noticed within a second."""


async def until(holds: Callable[[], Awaitable[bool]], timeout_s: float = WAIT_S) -> None:
    """Asks `holds` every 20 ms until it says yes. Raises `TimeoutError`."""
    async with asyncio.timeout(timeout_s):
        while not await holds():  # noqa: ASYNC110 - another process writes; there is no event to await
            await asyncio.sleep(0.02)


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

    async def dead(self) -> int:
        """Waits for its end; the exit code."""
        return await asyncio.to_thread(self.process.wait, WAIT_S)


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
        "JWT_SECRET": "chaos-" + "j" * 40,
        "COOKIE_SECRET": "chaos-" + "c" * 40,
        "RATE_LIMIT_MAX": "100000",
        "RATE_LIMIT_LOGIN_MAX": "1000",
        "AI_RATE_LIMIT_MAX": "1000",
        "AI_ENABLED": "true",
        "AI_ALLOW_LOCAL_PROVIDER": "true",
        "AI_BASE_URL": settings.ai_base_url,
        "AI_MODEL": "demo",
        "LOG_LEVEL": "info",
        **QUICK,
    }


@asynccontextmanager
async def web_process(
    settings: Settings, folder: Path, *, command: tuple[str, ...] = AS_INSTALLED, **changes: str
) -> AsyncIterator[WebProcess]:
    """`desk web` with these settings, once it answers; killed at the end if it still runs."""
    port = free_port()
    log = folder / f"web-{port}.log"
    with log.open("w") as output:
        process = await asyncio.to_thread(
            subprocess.Popen,
            [sys.executable, *command],
            cwd=folder,
            env={**environment(settings, port), **changes},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    started = WebProcess(process, f"http://127.0.0.1:{port}", log)
    try:
        await until(lambda: _answers(started))
        yield started
    finally:
        if process.poll() is None:
            await started.kill()


async def sign_in(desk: Desk, url: str, who: str) -> httpx.AsyncClient:
    """A client of one of the standing cast, signed in at `url`. The caller closes it."""
    email, password, name, role = CAST[who]
    await desk.accounts.accounts.ensure_user(email, password, name, role)  # type: ignore[arg-type]
    client = httpx.AsyncClient(base_url=url, timeout=20, trust_env=False)
    answer = await client.post("/api/v1/auth/login", json={"email": email, "password": password})
    assert answer.status_code == 200, answer.text
    return client


async def _answers(web: WebProcess) -> bool:
    if web.process.poll() is not None:
        raise AssertionError(f"the web process ended: {web.log.read_text()[-2000:]}")
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        try:
            return (await client.get(f"{web.url}/health")).status_code == 200
        except httpx.TransportError:
            return False
