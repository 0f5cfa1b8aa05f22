"""MongoDB and Valkey for a desk on this machine: those it was told to use, else embedded ones under `.desk/`.

A `mongod`, on PATH or from its package, comes before SecantusDB, which stands in on the platforms that have neither.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from app.local.binaries import find_mongod
from app.local.errors import LocalServiceError
from app.local.mongo import Mongo
from app.local.secantus import NOTICE, Secantus
from app.local.server import EmbeddedServer, ServerKind
from app.local.valkey import Valkey


class Services:
    """The addresses in use. `stop()`, or leaving the `with`, ends the embedded ones that nobody else uses."""

    def __init__(self, mongodb_uri: str, redis_url: str, embedded: ExitStack) -> None:
        self.mongodb_uri = mongodb_uri
        self.redis_url = redis_url
        self._embedded = embedded

    @property
    def environment(self) -> dict[str, str]:
        """The two settings for child processes."""
        return {"MONGODB_URI": self.mongodb_uri, "REDIS_URL": self.redis_url}

    def stop(self) -> None:
        self._embedded.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def start_services(desk_dir: Path, *, mongodb_uri: str = "", redis_url: str = "", ephemeral: bool = False) -> Services:
    """Both services, started or reused; a given address is used as it is. Raises `LocalServiceError`.

    `ephemeral` data (tests) is wiped before a start and after the stop.
    """
    with ExitStack() as started:
        if not mongodb_uri:
            mongodb_uri = _start(EmbeddedServer(_mongo(), desk_dir, ephemeral=ephemeral), started)
        if not redis_url:
            redis_url = _start(EmbeddedServer(Valkey(), desk_dir, ephemeral=ephemeral), started)
        return Services(mongodb_uri, redis_url, started.pop_all())


def clear_data(desk_dir: Path) -> None:
    """Deletes the embedded data of a stopped desk. Raises `LocalServiceError` when the desk runs."""
    for kind in (Mongo(), Secantus(), Valkey()):
        EmbeddedServer(kind, desk_dir).clear()


def _mongo() -> ServerKind:
    """MongoDB, else its stand-in where that is installed; said on stderr."""
    try:
        find_mongod()
    except LocalServiceError:
        if not Secantus.is_installed():
            raise
        print(NOTICE, file=sys.stderr)
        return Secantus()
    return Mongo()


def _start(server: EmbeddedServer, started: ExitStack) -> str:
    address = server.start()
    started.callback(server.stop)
    return address
