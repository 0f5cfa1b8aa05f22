"""Start-up: the keeper prepares, forks the process that will be confined, and stays to end it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from . import namespaces, runner
from .confinement import confine
from .link import Link
from .plan import Plan

_TICK_S = 0.05
_WATCHED = frozenset({signal.SIGCHLD, signal.SIGTERM, signal.SIGALRM})


def main() -> None:
    """`argv` is this package's folder and the plan. Standard input and output are the pipe to the desk."""
    plan = Plan.from_json(sys.argv[2])
    keeper = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        namespaces.leave(plan.namespaces)
        child = os.fork()
    except OSError as error:
        _say({"broken": str(error)})
        return
    if child == 0:
        _be_confined(plan, keeper)
    _keep(plan, child)


def _be_confined(plan: Plan, keeper: int) -> None:
    """Never returns: the tool's process."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        link = _take_pipe(plan)
        try:
            held = confine(plan, keeper)
        except Exception as error:
            link.send({"broken": f"{type(error).__name__}: {error}"[:300]})
        else:
            sys.argv = ["tool"]
            sys.dont_write_bytecode = True  # it could not, from here on
            os.environ["HOME"] = os.environ["TMPDIR"] = plan.scratch
            runner.serve(link, plan, held)
    finally:
        os._exit(0)  # no clean-up code of the tool's has a say


def _take_pipe(plan: Plan) -> Link:
    """What a tool prints goes nowhere, and cannot be taken for a message."""
    link = Link(os.dup(0), os.dup(1), plan.message_bytes)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return link


def _keep(plan: Plan, child: int) -> None:
    """Waits for the process, or ends it: when the desk asks, when the desk is gone, when a limit is passed."""
    os.close(0)
    deadline = time.monotonic() + plan.wall_s + 1  # the desk's own limit comes first
    signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)
    caught: int = signal.SIGALRM
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            reason = _reason(plan, status, used.ru_utime + used.ru_stime)
            break
        over = _passed_limit(plan, deadline)
        if over or caught == signal.SIGTERM:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            reason = over or "asked"
            break
        caught = signal.sigwait(_WATCHED)
    _say({"ended": reason})
    os.killpg(0, signal.SIGKILL)  # this process too: nothing of the group stays


def _reason(plan: Plan, status: int, cpu_s: float) -> str:
    """`cpu`, the signal's name, or `exit`. The first process of a namespace is deaf to SIGXCPU: SIGKILL follows."""
    if not os.WIFSIGNALED(status):
        return "exit"
    name = signal.Signals(os.WTERMSIG(status)).name
    return "cpu" if name == "SIGXCPU" or (name == "SIGKILL" and cpu_s >= plan.cpu_s) else name


def _passed_limit(plan: Plan, deadline: float) -> str | None:
    if os.getppid() != plan.desk_pid:
        return "orphaned"
    if time.monotonic() > deadline:
        return "time"
    if "mount" not in plan.namespaces and _overflows(plan):
        return "scratch"
    return None


def _overflows(plan: Plan) -> bool:
    """A folder on disk has no size limit of its own: it is looked at on every tick."""
    used = 0
    with os.scandir(plan.scratch) as entries:
        for count, entry in enumerate(entries, 1):
            try:
                used += entry.stat(follow_symlinks=False).st_blocks * 512
            except FileNotFoundError:
                continue
            if used > plan.scratch_bytes or count > plan.scratch_files:
                return True
    return False


def _say(message: dict[str, str]) -> None:
    os.set_blocking(1, False)
    try:
        os.write(1, b"\n" + json.dumps(message).encode() + b"\n")
    except OSError:  # nobody reads any more
        return
