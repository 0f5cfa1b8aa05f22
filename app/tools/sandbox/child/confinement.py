"""The order in which a process gives up what it has: view, user, limits, files, calls (T-11)."""

from __future__ import annotations

import os
import resource
import signal
from dataclasses import dataclass

from . import kernel, landlock, namespaces, seccomp
from .plan import Plan

# Beyond the ranges that distributions and containers give out, so that a process limit counts this call alone.
_FIRST_USER = 0x70000000
_NOBODY = 65534


class NotConfined(Exception):
    """A protection that the plan asks for could not be set up: nothing of the tool may run."""


@dataclass(frozen=True)
class Held:
    """What is in force: Landlock's ABI version (0: none), the seccomp filter, a user of its own."""

    landlock: int
    seccomp: bool
    own_user: bool


def confine(plan: Plan, keeper: int) -> Held:
    """Gives up everything but the plan, for good; `keeper` is the parent's id. Raises `NotConfined`, `OSError`."""
    processes = plan.threads + _tasks_counted(plan)
    if "mount" in plan.namespaces:
        namespaces.enter_small_root(plan)
    os.chdir(plan.scratch)  # before the change of user: the folders above it may be private
    if plan.own_user:
        _become_another_user(plan, keeper)
    _set_limits(plan, processes)
    os.umask(0o077)
    version, filtered = _close_kernel(plan) if kernel.LINUX else (0, False)
    if plan.landlock > bool(version) or plan.seccomp > filtered:
        raise NotConfined("Landlock or seccomp is gone")
    return Held(version, filtered, plan.own_user)


def _close_kernel(plan: Plan) -> tuple[int, bool]:
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of user, which forgets it
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    version = landlock.abi()
    if version:
        landlock.restrict(version, plan.read, ".")
    return version, _filter_calls()


def _filter_calls() -> bool:
    if not seccomp.known():
        return False
    try:
        seccomp.restrict()
    except OSError:
        return False
    return True


def _become_another_user(plan: Plan, keeper: int) -> None:
    """The keeper's id is unique while it lives, so the user is; a container that maps few users has `nobody`."""
    for user in (_FIRST_USER + keeper, _NOBODY):
        try:
            if "mount" not in plan.namespaces:
                os.chown(plan.scratch, user, user)
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError:
            continue
        return
    raise NotConfined("no other user can be taken")


def _set_limits(plan: Plan, processes: int) -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, plan.cpu_s, plan.cpu_s + 1)  # the first warns and ends, the second kills
    _limit(resource.RLIMIT_NOFILE, plan.descriptors)
    _limit(resource.RLIMIT_FSIZE, plan.file_bytes)
    _limit(resource.RLIMIT_NPROC, processes)
    if kernel.LINUX:  # elsewhere the address space cannot be limited
        _limit(resource.RLIMIT_AS, plan.memory_bytes)


def _limit(which: int, soft: int, hard: int | None = None) -> None:
    _, present = resource.getrlimit(which)
    wanted = soft if hard is None else hard
    top = wanted if present == resource.RLIM_INFINITY else min(wanted, present)
    resource.setrlimit(which, (min(soft, top), top))


def _tasks_counted(plan: Plan) -> int:
    """What the kernel counts against the limit on processes before the tool starts any."""
    if plan.own_user:
        return 1
    if plan.namespaces and os.geteuid() != 0:
        return 2  # a user namespace counts apart: this process and its keeper
    return _tasks_of_this_user()


def _tasks_of_this_user() -> int:
    """Threads that run as this user now: where the count is shared, the limit starts from here."""
    tasks, user = 0, os.geteuid()
    try:
        entries = [entry for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return 0
    for entry in entries:
        try:
            if entry.stat().st_uid == user:
                tasks += os.stat(f"/proc/{entry.name}/task").st_nlink - 2
        except OSError:  # it ended meanwhile
            continue
    return tasks
