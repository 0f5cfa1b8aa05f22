"""`desk up`: the whole desk on one machine, and nothing left of it afterwards."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from app.local.ports import free_port

_ROOT = Path(__file__).resolve().parents[2]


def _start(folder: Path, port: int) -> subprocess.Popen[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "app.cli", "up"],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(_ROOT), "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _read_until(running: subprocess.Popen[str], mark: str) -> list[str]:
    assert running.stdout is not None
    lines: list[str] = []
    while not lines or mark not in lines[-1]:
        line = running.stdout.readline()
        assert line, "".join(lines)
        lines.append(line)
    return lines


def _processes_in(folder: Path) -> list[int]:
    """Living processes that run in `folder` or name it on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command, cwd = (entry / "cmdline").read_bytes(), os.readlink(entry / "cwd")
        except OSError:
            continue
        if command and (cwd == str(folder) or str(folder).encode() in command):
            found.append(int(entry.name))
    return found


def _all_end(pids: list[int]) -> bool:
    """Whether each of `pids` has ended, or does within 20 s."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = select.select([descriptor], [], [], 20)[0]
        os.close(descriptor)
        if not ended:
            return False
    return True


def test_up_serves_the_desk_and_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    """Issue 2, "Must show": /health answers, /login renders, Ctrl-C leaves no process behind."""
    port = free_port()
    with _start(tmp_path, port) as running:
        output = "".join(_read_until(running, "Ctrl-C stops everything."))
        for said in (f"http://127.0.0.1:{port}", "admin@example.com", "user@example.com", "viewer@example.com", "demo"):
            assert said in output
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as client:
            health = client.get("/health")
            assert (health.status_code, health.json()) == (200, {"status": "ok"})
            assert re.search(r"<form[^>]*>", client.get("/login").text)
        pids = _processes_in(tmp_path)
        assert len(pids) >= 6  # the launcher, web, worker, the demo model, MongoDB, Valkey
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        assert running.returncode == 0
    assert _processes_in(tmp_path) == []


def test_children_end_when_up_is_killed_and_the_next_up_starts(tmp_path: Path) -> None:
    """Issue 2.3, 2.4: after kill -9 the children end, and the next start takes the servers over and ends them."""
    port = free_port()
    with _start(tmp_path, port) as killed:
        _read_until(killed, "Ctrl-C stops everything.")
        children = [pid for pid in _processes_in(tmp_path) if "app.cli" in _command(pid) and pid != killed.pid]
        assert children
        killed.kill()
        assert _all_end(children)
    with _start(tmp_path, port) as running:
        _read_until(running, "Ctrl-C stops everything.")
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
        assert running.returncode == 0
    assert _processes_in(tmp_path) == []


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
