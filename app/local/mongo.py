"""The embedded MongoDB: a standalone `mongod` of version 6 or newer, journaled, on loopback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from app.local.binaries import find_mongod
from app.local.server import ServerKind


class Mongo(ServerKind):
    name: ClassVar[str] = "MongoDB"
    folder: ClassVar[str] = "mongo"

    def find(self) -> Path:
        return find_mongod()

    def command(self, program: Path, folder: Path, data: Path, port: int) -> list[str]:
        log = folder / "mongod.log"
        if log.exists():
            os.replace(log, folder / "mongod.log.1")  # one earlier log is kept, so the folder does not grow
        return [
            str(program),
            "--dbpath", str(data),
            "--port", str(port),
            "--bind_ip", "127.0.0.1",
            "--nounixsocket",
            "--wiredTigerCacheSizeGB", "0.5",
            "--logpath", str(log),
            "--quiet",
            "--setParameter", "diagnosticDataCollectionEnabled=false",
        ]  # fmt: skip

    def process_serving(self, port: int, data: Path) -> int | None:
        try:
            with self._client(port) as client:
                options = client.admin.command("getCmdLineOpts")["parsed"]
                if Path(options["storage"]["dbPath"]) != data:
                    return None
                return int(client.admin.command("serverStatus", metrics=0, wiredTiger=0, locks=0)["pid"])
        except (PyMongoError, KeyError):
            return None

    def address(self, port: int) -> str:
        return f"mongodb://127.0.0.1:{port}/?directConnection=true"

    def _client(self, port: int) -> MongoClient[dict[str, Any]]:
        return MongoClient(
            "127.0.0.1",
            port,
            directConnection=True,
            serverSelectionTimeoutMS=2_000,
            connectTimeoutMS=2_000,
            socketTimeoutMS=5_000,
        )
