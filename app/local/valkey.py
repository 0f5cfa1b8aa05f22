"""The embedded Valkey (or Redis), on loopback and in memory.

It keeps nothing on disk: it holds event streams, limits and wake-ups, and all of them can be rebuilt from MongoDB.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, cast

from redis import Redis
from redis.exceptions import RedisError

from app.local.binaries import find_valkey
from app.local.server import ServerKind


class Valkey(ServerKind):
    name: ClassVar[str] = "Valkey"
    folder: ClassVar[str] = "valkey"

    def find(self) -> Path:
        return find_valkey()

    def command(self, program: Path, folder: Path, data: Path, port: int) -> list[str]:
        log = folder / "valkey.log"
        log.unlink(missing_ok=True)
        return [
            str(program),
            "--dir", str(data),
            "--port", str(port),
            "--bind", "127.0.0.1",
            "--protected-mode", "yes",
            "--daemonize", "no",
            "--set-proc-title", "no",  # its command line is how an orphan is known
            "--save", "",
            "--appendonly", "no",
            "--maxmemory", "256mb",
            "--maxmemory-policy", "noeviction",
            "--logfile", str(log),
        ]  # fmt: skip

    def process_serving(self, port: int, data: Path) -> int | None:
        client = Redis(host="127.0.0.1", port=port, decode_responses=True, socket_connect_timeout=2, socket_timeout=5)
        try:
            folder = cast("dict[str, str]", client.config_get("dir"))["dir"]
            server = cast("dict[str, Any]", client.info("server"))
            return int(server["process_id"]) if Path(folder) == data else None
        except (RedisError, OSError, KeyError):
            return None
        finally:
            client.close()

    def address(self, port: int) -> str:
        return f"redis://127.0.0.1:{port}/0"
