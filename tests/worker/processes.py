"""Worker processes as `desk worker` runs them, and a Valkey of a test's own that can be lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.core.settings import Settings
from app.local.binaries import find_valkey

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 30.0


async def until(holds: Callable[[], Awaitable[bool]], timeout_s: float = WAIT_S) -> None:
    """Asks `holds` every 50 ms until it says yes. Raises `TimeoutError`."""
    async with asyncio.timeout(timeout_s):
        while not await holds():  # noqa: ASYNC110 - another process writes; there is no event to await
            await asyncio.sleep(0.05)


@contextmanager
def worker_process(settings: Settings, folder: Path, **changes: str) -> Iterator[subprocess.Popen[str]]:
    """`desk worker` with these settings; killed at the end if it still runs."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {
        "PYTHONPATH": str(ROOT),
        "APP_ENV": "test",
        "MONGODB_URI": settings.mongodb_uri,
        "MONGODB_DB": settings.mongodb_db,
        "REDIS_URL": settings.redis_url,
        "AI_ENABLED": "true",
        "AI_ALLOW_LOCAL_PROVIDER": "true",
        "AI_BASE_URL": settings.ai_base_url,
        "CONNECTIONS_DIR": str(settings.connections_dir),
        "CUSTOM_TOOLS_DIR": str(settings.custom_tools_dir),
        "AI_MODEL": "demo",
        "AGENT_LEASE_MS": "1500",
        "LOG_LEVEL": "info",
    }
    log = folder / f"worker-{len(list(folder.glob('worker-*.log')))}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "worker"],
            cwd=folder,
            env={**kept, **environment, **changes},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield process
    except BaseException:
        print(f"exit code {process.poll()}; its log:\n{log.read_text()[-4000:]}")  # noqa: T201 - pytest shows it
        raise
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


async def stopped(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
    """Its exit code after a stop signal."""
    process.send_signal(number)
    return await asyncio.to_thread(process.wait, 20)


class LosableRedis:
    """A Valkey on a port of its own that can be killed and started again."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{port}/0"

    async def start(self) -> None:
        command = [str(find_valkey()), "--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--dir"]
        self._process = await asyncio.to_thread(
            subprocess.Popen, [*command, str(self._folder)], stdout=subprocess.DEVNULL
        )
        await until(self.answers)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    async def answers(self) -> bool:
        client = Redis.from_url(self.url, socket_connect_timeout=1)
        try:
            return bool(await client.ping())
        except (RedisError, OSError):
            return False
        finally:
            await client.aclose()


@asynccontextmanager
async def losable_redis(folder: Path, port: int) -> AsyncIterator[LosableRedis]:
    redis = LosableRedis(folder, port)
    await redis.start()
    try:
        yield redis
    finally:
        redis.kill()
