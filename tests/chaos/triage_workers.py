"""Worker processes that are killed and replaced, and a MongoDB of a test's own that is killed and comes back."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.core.settings import Settings
from app.local.mongo import Mongo
from tests.worker.processes import until, worker_process


@dataclass(frozen=True)
class Worker:
    """A `desk worker` process and what it logs."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def works(self) -> bool:
        """Whether its lanes run."""
        return self.process.poll() is None and self.has_logged("worker_started")

    def has_logged(self, word: str) -> bool:
        return word in self.log.read_text()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(10)


class Workers:
    """Starts workers with the same settings; leaving its context kills those that still run."""

    def __init__(self, settings: Settings, folder: Path, running: ExitStack, changes: dict[str, str]) -> None:
        self._settings = settings
        self._folder = folder
        self._running = running
        self._changes = changes
        self._started = 0

    def start(self) -> Worker:
        folder = self._folder / f"worker-{self._started}"
        self._started += 1
        folder.mkdir()
        changes = {"DESK_DIR": str(self._settings.desk_dir)} | self._changes
        process = self._running.enter_context(worker_process(self._settings, folder, **changes))
        return Worker(process, folder / "worker-0.log")


@contextmanager
def workers_of(settings: Settings, folder: Path, **changes: str) -> Iterator[Workers]:
    with ExitStack() as running:
        yield Workers(settings, folder, running, changes)


class LosableMongo:
    """A `mongod` on a folder and port of its own, as the desk starts it."""

    def __init__(self, folder: Path, port: int) -> None:
        self._kind = Mongo()
        self._folder = folder
        self._data = folder / "data"
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self.uri = self._kind.address(port)

    async def start(self) -> None:
        """Returns once it answers; with the data that were there before."""
        self._data.mkdir(exist_ok=True)
        command = self._kind.command(self._kind.find(), self._folder, self._data, self._port)
        self._process = await asyncio.to_thread(subprocess.Popen, command, stdout=subprocess.DEVNULL)
        await until(self._answers, 60)

    def kill(self) -> None:
        """kill -9: what was not in the journal is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    async def _answers(self) -> bool:
        return await asyncio.to_thread(self._kind.process_serving, self._port, self._data) is not None


@asynccontextmanager
async def losable_mongo(folder: Path, port: int) -> AsyncIterator[LosableMongo]:
    mongo = LosableMongo(folder, port)
    try:
        await mongo.start()
        yield mongo
    finally:
        mongo.kill()
