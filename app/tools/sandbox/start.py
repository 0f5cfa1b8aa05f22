"""How a sandbox process is started: its command line, its environment, what it may read, its scratch folder."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pydantic

from app.tools.sandbox.child.plan import Plan
from app.tools.sandbox.limits import Limits

_HERE = Path(__file__).resolve().parent
_DESK_TOOL = _HERE.parent / "author" / "desk_tool.py"
_ENTRY = "import sys; sys.path.insert(0, sys.argv[1]); from child.main import main; main()"
# Isolated, without site: no PYTHON* variables, no user packages, no .pth files.
_FLAGS = ("-I", "-S", "-X", "utf8")

ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "MALLOC_ARENA_MAX": "1",  # an arena per thread would use up the address space
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # found by reading every installed package
}

_SYSTEM = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime")


def command(plan_: Plan) -> tuple[str, ...]:
    return (sys.executable, *_FLAGS, "-c", _ENTRY, str(_HERE), plan_.to_json())


def plan(limits: Limits, scratch: Path, module: Path | None, *, namespaces: frozenset[str], own_user: bool) -> Plan:
    """The plan of one call; `module` is the only file of the project that can be read, beside `desk_tool`."""
    packages = _packages()
    own = [str(_DESK_TOOL), *([str(module)] if module else [])]
    return Plan(
        desk_pid=os.getpid(),
        scratch=str(scratch),
        read=_outermost([*_interpreter(), *packages, *_SYSTEM, *_SYSTEM_FILES, *own]),
        packages=packages,
        desk_tool=str(_DESK_TOOL),
        namespaces=namespaces,
        own_user=own_user,
        landlock=False,
        seccomp=False,
        wall_s=limits.wall_s,
        cpu_s=limits.cpu_s,
        memory_bytes=limits.memory_bytes,
        threads=limits.threads,
        descriptors=limits.descriptors,
        file_bytes=limits.file_bytes,
        scratch_bytes=limits.scratch_bytes,
        scratch_files=limits.scratch_files,
        message_bytes=limits.message_bytes,
    )


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A fresh folder, gone afterwards. The tool can make plain files in it and nothing else."""
    folder = Path(tempfile.mkdtemp(prefix="desk-tool-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _packages() -> tuple[str, ...]:
    """Where installed packages lie: the whole of it, since a tool may use any."""
    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(Path(pydantic.__file__).parents[1])]
    return tuple(dict.fromkeys(places))


def _interpreter() -> list[str]:
    """The standard library and the interpreter's own libraries, not the folder around them."""
    paths = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), f"{sys.base_prefix}/lib"]
    # In a virtual environment the first two are the base's; `lib` beside the program holds libpython.
    return [*paths, str(sysconfig.get_config_var("LIBDIR") or paths[0])]


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Those that exist, without what lies beneath another of them."""
    kept: list[str] = []
    for path in sorted({path for path in paths if os.path.exists(path)}):
        if not any(path == above or path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return tuple(kept)
