"""A sandbox at each strength that a host may give, and the check that nothing of a call is left."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import NotFound
from app.tools.sandbox.errors import ToolFailed
from app.tools.sandbox.limits import Limits
from app.tools.sandbox.sandbox import Sandbox

# Wide on the clock: the machine may be busy, and most tests never come near it.
PATIENT = Limits(wall_s=30, cpu_s=3)
HURRIED = Limits(wall_s=2.5, cpu_s=1)
HOSTILE = Path(__file__).parents[2] / "data" / "hostile_tools"
WHOAMI = {"name": "whoami", "params": {}}
ORDER_ID = "0123456789abcdef01234567"


# A hostile tool would do real harm where the kernel cannot hold it: nothing here runs without Linux.
collect_ignore_glob = [] if sys.platform == "linux" else ["test_*"]


def _complete(sandbox: Sandbox) -> Sandbox:
    assert sandbox.holds.complete, sandbox.holds.line
    return sandbox


@pytest.fixture(scope="session", params=[True, False], ids=["namespaces", "no-namespaces"])
def namespaces(request: pytest.FixtureRequest) -> bool:
    """Without them the sandbox stands as it does in a container: on Landlock, seccomp and limits."""
    return bool(request.param)


@pytest.fixture(scope="session")
def sandbox(namespaces: bool) -> Sandbox:
    return _complete(Sandbox(limits=PATIENT, namespaces=namespaces))


@pytest.fixture(scope="session")
def hurried(namespaces: bool) -> Sandbox:
    return _complete(Sandbox(limits=HURRIED, namespaces=namespaces))


@pytest.fixture(scope="session")
def strongest() -> Sandbox:
    """As strong as this machine gives, for what does not depend on it."""
    return _complete(Sandbox(limits=PATIENT))


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that other users may read, unlike `tmp_path`: modules lie there."""
    with tempfile.TemporaryDirectory(prefix="desk-test-") as path:
        Path(path).chmod(0o755)
        yield Path(path).resolve()


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test: no process of this test run's sandboxes, and no scratch folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert sandbox_processes() == {}
    assert list(tmp_path.iterdir()) == []


def sandbox_processes(desk: int | None = None) -> dict[int, str]:
    """Live processes that a sandbox of this process (or of `desk`) started, keepers and tools alike, by id."""
    mark = f'"desk_pid": {desk or os.getpid()},'
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in line:
            found[int(entry.parent.name)] = line[:100]
    return found


async def one_order(name: str, params: dict[str, Any]) -> Any:
    """A desk with one order, of the caller's."""
    order = {
        "id": ORDER_ID,
        "title": "Pump P-101 leaks",
        "description": None,
        "priority": "high",
        "status": "pending",
        "version": 1,
        "createdAt": "2026-11-30T08:12:00.000Z",
        "updatedAt": "2026-11-30T08:12:00.000Z",
    }
    if name == "whoami":
        return {"name": "Rosa Lind", "role": "user"}
    if name == "list_orders":
        return [order] if params.get("status", "pending") == "pending" else []
    if params["id"] != ORDER_ID:
        raise NotFound
    return order


async def failure(sandbox: Sandbox, tool: str, /, **args: Any) -> str:
    """The message of a call that must fail: one line, bounded."""
    with pytest.raises(ToolFailed) as failed:
        await sandbox.run(HOSTILE / f"{tool}.py", args, one_order)
    assert len(failed.value.message) <= 350
    assert failed.value.message.isprintable()
    return failed.value.message
