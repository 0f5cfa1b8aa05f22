"""SecantusDB: a stand-in that speaks MongoDB's wire protocol, where no package carries a `mongod` (macOS, Linux arm64).

For trying the desk out on one machine. Two things a real MongoDB guarantees do not hold in it: of several upserts of
one document by `find_one_and_update` at the same instant all but one answer nothing, and a condition in `$expr` is not
checked in the same step as the write. Lists are about twenty times slower.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from pymongo.errors import PyMongoError

from app.local import processes
from app.local.binaries import has_package
from app.local.errors import LocalServiceError
from app.local.mongo import Mongo

NOTICE = (
    "No mongod was found: SecantusDB stands in for it. It serves for trying the desk out; install MongoDB for more."
)
_PACKAGE = "secantus"
_PS_TIMEOUT_S = 5


class Secantus(Mongo):
    """The stand-in, run by this Python."""

    name: ClassVar[str] = "SecantusDB"
    folder: ClassVar[str] = "secantus"

    @staticmethod
    def is_installed() -> bool:
        return has_package(_PACKAGE)

    def find(self) -> Path:
        if not self.is_installed():
            raise LocalServiceError("SecantusDB is not installed: pip install secantusdb, or set MONGODB_URI.")
        return Path(sys.executable)

    def command(self, program: Path, folder: Path, data: Path, port: int) -> list[str]:  # noqa: ARG002 - no log file
        return [
            str(program),
            "-m", _PACKAGE,
            "--host", "127.0.0.1",
            "--port", str(port),
            "--storage-path", str(data),
            "--standalone",
            "--sync-on-commit",
            "--cache-size", "256M",
            "--log-level", "WARNING",
        ]  # fmt: skip

    def process_serving(self, port: int, data: Path) -> int | None:
        """It does not tell its folder; its command line does."""
        try:
            with self._client(port) as client:
                status = client.admin.command("serverStatus")
            pid = int(status["pid"])
        except (PyMongoError, KeyError):
            return None
        return pid if _has_argument(pid, str(data)) else None


def _has_argument(pid: int, argument: str) -> bool:
    if sys.platform == "linux":
        return processes.is_running_with(pid, argument)
    try:
        listed = subprocess.run(
            ["ps", "-ww", "-o", "args=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=_PS_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return argument in listed.stdout
