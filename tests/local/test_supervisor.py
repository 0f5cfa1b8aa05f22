"""The launcher's children: all live, or none does."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from app.local.children import Child, ChildSpec

_PROGRAM = """
import asyncio, json, sys
from app.local.children import ChildSpec
from app.local.errors import LocalServiceError
from app.local.supervisor import Supervisor

async def run(plan):
    async def ready():
        if plan["not_ready"]:
            raise LocalServiceError("It did not answer.")
    def specs(key):
        return [ChildSpec(name, [sys.executable, "-c", code]) for name, code in plan[key]]
    supervisor = Supervisor(lambda line: print(line, flush=True), grace_s=plan["grace_s"])
    return await supervisor.run(specs("children"), before=specs("before"), ready=ready)

sys.exit(asyncio.run(run(json.loads(sys.argv[1]))))
"""
_WAITS = "import os, signal; print('up', os.getpid(), flush=True); signal.pause()"
_STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + _WAITS
_DIES = "import sys; print('the reason'); sys.exit(3)"
_SPAWNS = (
    "import os, signal\nif os.fork() == 0:\n    print('up', os.getpid(), flush=True)\n    signal.pause()\n"
    "else:\n    signal.pause()"
)

Plan = Sequence[tuple[str, str]]


def _supervise(
    children: Plan, *, before: Plan = (), not_ready: bool = False, grace_s: float = 10
) -> subprocess.Popen[str]:
    import json

    plan = {"children": list(children), "before": list(before), "not_ready": not_ready, "grace_s": grace_s}
    return subprocess.Popen([sys.executable, "-c", _PROGRAM, json.dumps(plan)], stdout=subprocess.PIPE, text=True)


def _pids(supervisor: subprocess.Popen[str], count: int) -> list[int]:
    """The process ids of `count` children that have printed `up`."""
    assert supervisor.stdout is not None
    pids: list[int] = []
    while len(pids) < count:
        line = supervisor.stdout.readline()
        assert line, "the supervisor ended early"
        if " | up " in line:
            pids.append(int(line.split()[-1]))
    return pids


def _is_gone(pid: int) -> bool:
    """Whether `pid` has ended, or does within a few seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_every_child_and_exits_0(number: signal.Signals) -> None:
    """Issue 2.4: Ctrl-C stops every child."""
    with _supervise([("web", _WAITS), ("worker", _WAITS)]) as supervisor:
        pids = _pids(supervisor, 2)
        supervisor.send_signal(number)
        assert supervisor.wait(30) == 0
        assert all(_is_gone(pid) for pid in pids)


def test_a_child_that_dies_stops_the_rest_with_its_last_lines_and_code() -> None:
    """Issue 2.4: a child that dies stops the rest, with its last lines and a non-zero exit."""
    waits_for_the_other = "import sys; sys.stdin.read(); " + _DIES
    with _supervise([("web", _WAITS), ("worker", waits_for_the_other)]) as supervisor:
        output, _ = supervisor.communicate(timeout=30)
        assert supervisor.returncode == 3
    assert "worker     | the reason" in output
    assert "worker ended with exit code 3; the rest is stopped. Its last lines:\n    the reason\n" in output


def test_a_child_that_ends_well_still_ends_the_desk_with_a_failure() -> None:
    """Issue 2.4: no child of the desk ends by itself."""
    with _supervise([("web", _WAITS), ("worker", "print('bye')")]) as supervisor:
        supervisor.communicate(timeout=30)
        assert supervisor.returncode == 1


def test_a_child_that_will_not_end_is_killed_after_the_grace() -> None:
    """Issue 2.4: graceful, then kill after a bound."""
    with _supervise([("web", _STUBBORN)], grace_s=0.2) as supervisor:
        pids = _pids(supervisor, 1)
        supervisor.send_signal(signal.SIGTERM)
        output, _ = supervisor.communicate(timeout=30)
        assert supervisor.returncode == 0
        assert all(_is_gone(pid) for pid in pids)
    assert "is killed" in output


def test_a_second_signal_kills_at_once() -> None:
    """Issue 2.4: an impatient Ctrl-C."""
    with _supervise([("web", _STUBBORN)], grace_s=60) as supervisor:
        pids = _pids(supervisor, 1)
        supervisor.send_signal(signal.SIGINT)
        supervisor.send_signal(signal.SIGTERM)  # another one, so that the kernel does not merge the two
        assert supervisor.wait(30) == 0
        assert all(_is_gone(pid) for pid in pids)


def test_what_a_child_started_ends_with_it() -> None:
    """Issue 2.4: Ctrl-C leaves no process behind."""
    with _supervise([("web", _SPAWNS)]) as supervisor:
        pids = _pids(supervisor, 1)
        supervisor.send_signal(signal.SIGINT)
        assert supervisor.wait(30) == 0
        assert all(_is_gone(pid) for pid in pids)


def test_children_end_when_the_launcher_is_killed() -> None:
    """Issue 2.4: kill -9 of the launcher leaves no child."""
    with _supervise([("web", _WAITS), ("worker", _WAITS)]) as supervisor:
        pids = _pids(supervisor, 2)
        supervisor.kill()
        assert all(_is_gone(pid) for pid in pids)


def test_a_failed_first_step_starts_nothing() -> None:
    """Issue 2.4: without the seed no desk."""
    with _supervise([("web", _WAITS)], before=[("seed", _DIES)]) as supervisor:
        output, _ = supervisor.communicate(timeout=30)
        assert supervisor.returncode == 3
    assert "seed ended with exit code 3" in output
    assert "web" not in output


def test_a_desk_that_never_answers_is_stopped() -> None:
    """Issue 2.4: every wait has a time-out; what it raises ends the children."""
    with _supervise([("web", _WAITS)], not_ready=True) as supervisor:
        output, _ = supervisor.communicate(timeout=30)
        assert supervisor.returncode == 1
    assert "It did not answer." in output


async def test_a_line_without_end_is_cut_and_the_child_goes_on() -> None:
    """Issue 2.4: every buffer has a bound."""
    lines: list[str] = []
    code = "print('x' * 300_000); print('after')"
    child = await Child.start(ChildSpec("web", [sys.executable, "-c", code]), lines.append)
    assert await child.wait() == 0
    assert max(map(len, lines)) < 9_000
    assert lines[-1] == "web        | after"
