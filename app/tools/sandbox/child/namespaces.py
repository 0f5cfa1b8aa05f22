"""A view of the machine that holds the interpreter, the packages and the module, and no other process or network."""

from __future__ import annotations

import os
from pathlib import Path

from . import kernel
from .plan import Plan

_FLAGS = {
    "mount": kernel.CLONE_NEWNS,
    "uts": kernel.CLONE_NEWUTS,
    "ipc": kernel.CLONE_NEWIPC,
    "pid": kernel.CLONE_NEWPID,
    "net": kernel.CLONE_NEWNET,
}


def leave(names: frozenset[str]) -> None:
    """Unshares the namespaces `names`; a child forked afterwards is the first of the new process ids.

    Without root they are given inside a user namespace, where this user stays itself. Raises `OSError`.
    """
    if not names:
        return
    user, group = os.geteuid(), os.getegid()
    flags = sum(_FLAGS[name] for name in names)
    if user == 0:
        kernel.unshare(flags)
        return
    kernel.unshare(flags | kernel.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def enter_small_root(plan: Plan) -> None:
    """Only `plan.read` is left of the file system, read-only, and a scratch folder in memory. Raises `OSError`.

    The folders above them are new ones that anybody may pass: a module under a private home can be read by another
    user all the same.
    """
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    root = plan.scratch
    kernel.mount("tmpfs", root, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755,size=1m")
    for path in plan.read:
        _show(path, root + path)
    scratch = root + plan.scratch
    Path(scratch).mkdir(parents=True, exist_ok=True)
    kernel.make_read_only(root)
    kernel.mount(
        "tmpfs",
        scratch,
        "tmpfs",
        kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC,
        f"mode=777,size={plan.scratch_bytes},nr_inodes={plan.scratch_files}",
    )
    kernel.change_root(root)


def _show(path: str, target: str) -> None:
    place = Path(target)
    if Path(path).is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    kernel.mount(path, target, None, kernel.MS_BIND | kernel.MS_REC)
