"""Hostile custom tools: each ends as an error within its limits, the desk goes on, nothing leaks (T-11)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import app.main
from app.tools.sandbox.limits import Limits
from app.tools.sandbox.sandbox import Sandbox
from tests.tools.sandbox.conftest import HOSTILE, HURRIED, WHOAMI, failure, one_order, sandbox_processes


@pytest.mark.parametrize("how", ["fork", "spawn", "program"])
async def test_a_fork_bomb_starts_no_process(sandbox: Sandbox, how: str) -> None:
    """T-11."""
    assert await sandbox.run(HOSTILE / "fork_bomb.py", {"how": how}, one_order) == {"started": 0, "refused": 100}


async def test_a_bomb_of_threads_is_bounded(sandbox: Sandbox) -> None:
    """T-11: by their number, or (where the process stays root) by the address space."""
    ended = await sandbox.run(HOSTILE / "fork_bomb.py", {"how": "thread"}, one_order)
    assert ended["refused"] == 100
    assert ended["started"] <= (8 if sandbox.holds.own_user else 40)


async def test_open_files_are_bounded(sandbox: Sandbox) -> None:
    """T-11."""
    ended = await sandbox.run(HOSTILE / "fork_bomb.py", {"how": "descriptor"}, one_order)
    assert ended["refused"] == 100
    assert ended["started"] < 64


@pytest.mark.parametrize("at_once", [True, False])
async def test_ten_gigabytes_are_not_given(sandbox: Sandbox, at_once: bool) -> None:
    """T-11."""
    assert "MemoryError" in await failure(sandbox, "allocate", at_once=at_once)


async def test_an_endless_loop_ends_at_its_cpu_time(namespaces: bool) -> None:
    """T-11: also when it ignores the warning."""
    short = Sandbox(limits=Limits(wall_s=30, cpu_s=1), namespaces=namespaces)
    ended = await asyncio.gather(failure(short, "endless", how="loop"), failure(short, "endless", how="deaf"))
    assert set(ended) == {"It used more than 1 s of CPU time and was stopped."}


async def test_an_endless_sleep_ends_at_its_wall_time(hurried: Sandbox) -> None:
    """T-11."""
    before = time.monotonic()
    assert await failure(hurried, "endless", how="sleep") == "It took longer than 2.5 s and was stopped."
    assert time.monotonic() - before < HURRIED.wall_s + 3


async def test_endless_printing_goes_nowhere(hurried: Sandbox) -> None:
    """T-11: on standard output and error."""
    assert "was stopped" in await failure(hurried, "endless", how="print")


async def test_more_output_than_allowed_ends_the_call(sandbox: Sandbox) -> None:
    """T-11: bytes without a line end, straight onto the pipe."""
    assert await failure(sandbox, "flood", kilobytes=1024) == "It sent more than 64 kB."


async def test_no_file_of_the_machine_or_the_project_can_be_read(sandbox: Sandbox, folder: Path) -> None:
    """T-11: neither a `.env`, nor the desk's own code, nor another tool, nor what the system tells of processes."""
    secrets = folder / ".env"
    secrets.write_text("JWT_SECRET=very-secret")
    ours = [secrets, Path(__file__), Path(app.main.__file__), Path(app.main.__file__).parents[1], HOSTILE / "ask.py"]
    system = ["/proc/1/environ", "/proc/self/environ", "/proc/self/mem", "/etc/passwd", "/etc/shadow", "/dev/zero", "/"]
    paths = [*map(str, ours), *system, f"/proc/{os.getpid()}/environ", "/tmp/../etc/passwd"]
    found = await sandbox.run(HOSTILE / "read_files.py", {"paths": paths}, one_order)
    assert set(found) == set(paths)
    assert set(found.values()) <= {"PermissionError", "FileNotFoundError", "IsADirectoryError"}


async def test_nothing_outside_of_its_scratch_folder_can_be_changed(sandbox: Sandbox, folder: Path) -> None:
    """T-11: mode, owner and times too, which Landlock leaves open."""
    kept = folder / "kept.txt"
    kept.write_text("as it was")
    await assert_unchanged(sandbox, HOSTILE / "change_file.py", kept)
    assert sorted(os.listdir(folder)) == ["kept.txt"]


async def test_its_own_module_cannot_be_changed(sandbox: Sandbox, folder: Path) -> None:
    """T-11: what may be read may not be emptied."""
    module = folder / "change_file.py"
    module.write_bytes((HOSTILE / "change_file.py").read_bytes())
    module.chmod(0o666)
    await assert_unchanged(sandbox, module, module)


async def assert_unchanged(sandbox: Sandbox, tool: Path, file: Path) -> None:
    before = state(file)
    came = await sandbox.run(tool, {"path": str(file)}, one_order)
    assert len(came) > 10
    assert set(came.values()) <= {"PermissionError", "FileNotFoundError", "OSError"}
    assert state(file) == before


def state(file: Path) -> tuple[object, ...]:
    found = file.stat()
    return file.read_bytes(), found.st_mode, found.st_uid, found.st_mtime_ns, found.st_nlink


async def test_no_socket_reaches_anybody(sandbox: Sandbox, folder: Path) -> None:
    """T-11: listeners on the machine hear nothing."""
    called = asyncio.Event()
    path = str(folder / "socket")
    unix = await asyncio.start_unix_server(lambda _reader, _writer: called.set(), path)
    tcp = await asyncio.start_server(lambda _reader, _writer: called.set(), "127.0.0.1")
    async with unix, tcp:
        args = {"port": tcp.sockets[0].getsockname()[1], "path": path}
        came = await sandbox.run(HOSTILE / "open_sockets.py", args, one_order)
    assert set(came.values()) == {"PermissionError"}, came
    assert not called.is_set()


async def test_no_other_process_and_no_limit_can_be_touched(sandbox: Sandbox) -> None:
    """T-11: no signal, no trace, no new namespace, and no way to outlive the call."""
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: received.append(number))
    try:
        came = await sandbox.run(HOSTILE / "meddle.py", {"pid": os.getpid()}, one_order)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == []
    assert "done" not in came.values(), came
    assert os.getpriority(os.PRIO_PROCESS, 0) < 19


async def test_it_sees_neither_environment_nor_descriptors_of_the_desk(
    sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-11: cleared environment, no inherited descriptors, another user where that can be."""
    monkeypatch.setenv("JWT_SECRET", "secret-in-the-environment")
    secret = folder / "secret"
    secret.write_text("secret-in-a-file")
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        seen = await sandbox.run(HOSTILE / "look_around.py", {}, one_order)
    assert "secret-in" not in json.dumps(seen)
    assert seen["modules"] == []
    assert set(seen["environment"]) <= {
        "HOME", "LANG", "LC_CTYPE", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "PYDANTIC_DISABLE_PLUGINS", "TMPDIR", "TZ",
    }  # fmt: skip
    assert (seen["user"] != os.getuid()) == sandbox.holds.own_user


@pytest.mark.parametrize("how", ["one", "bytes", "files"])
async def test_the_scratch_folder_cannot_be_filled_without_end(sandbox: Sandbox, how: str) -> None:
    """T-11."""
    message = await failure(sandbox, "fill_scratch", how=how)
    assert "scratch folder" in message or "OSError" in message


async def test_a_cancelled_call_leaves_nothing(sandbox: Sandbox) -> None:
    """T-11: ended with its children."""
    asked = asyncio.Event()

    async def answer(_name: str, _params: dict[str, Any]) -> Any:
        asked.set()
        await asyncio.Event().wait()

    module = HOSTILE / "ask.py"
    call = asyncio.create_task(sandbox.run(module, {"questions": [WHOAMI]}, answer))
    async with asyncio.timeout(20):
        await asked.wait()
    assert len(sandbox_processes()) == 2
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert sandbox_processes() == {}


DESK = """
import asyncio, sys
from pathlib import Path
from app.tools.sandbox.limits import Limits
from app.tools.sandbox.sandbox import Sandbox

async def answer(name, params):
    print("asked", flush=True)
    await asyncio.Event().wait()

sandbox = Sandbox(limits=Limits(wall_s=60), namespaces=sys.argv[2] == "True")
asyncio.run(sandbox.run(Path(sys.argv[1]), {"questions": [{"name": "whoami", "params": {}}]}, answer))
"""


async def test_a_tool_does_not_outlive_a_desk_that_was_killed(namespaces: bool, folder: Path) -> None:
    """T-11: ended with its children, also when nobody is left to end it."""
    desk = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DESK, str(HOSTILE / "ask.py"), str(namespaces),
        stdout=asyncio.subprocess.PIPE, env=os.environ | {"TMPDIR": str(folder)},
    )  # fmt: skip
    assert desk.stdout is not None
    async with asyncio.timeout(30):
        assert await desk.stdout.readline() == b"asked\n"
        watched = [os.pidfd_open(pid) for pid in sandbox_processes(desk.pid)]
        assert len(watched) == 2
        desk.kill()
        await asyncio.gather(desk.wait(), *map(process_end, watched))
    assert sandbox_processes(desk.pid) == {}


async def process_end(pidfd: int) -> None:
    """Waits until the process behind `pidfd`, nobody's child here, has ended."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(pidfd, ended.set)
    await ended.wait()
    loop.remove_reader(pidfd)
    os.close(pidfd)
