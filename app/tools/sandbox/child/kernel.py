"""The few Linux calls that Python has no function for. Each raises `OSError` when the kernel refuses."""

from __future__ import annotations

import ctypes
import os
import sys

LINUX = sys.platform == "linux"

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

_NR_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY_NOSUID_NODEV = 0x1 | 0x2 | 0x4
_MNT_DETACH = 2
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, *args: object) -> int:
    """A system call by its number, for those without a function in libc."""
    return _checked(_libc.syscall(ctypes.c_long(number), *args), what)


def prctl(option: int, value: int, pointer: ctypes.Structure | None = None) -> None:
    address = ctypes.c_void_p(0) if pointer is None else ctypes.byref(pointer)
    _checked(
        _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), address, ctypes.c_ulong(0), ctypes.c_ulong(0)), "prctl"
    )


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    _checked(
        _libc.mount(
            source.encode(),
            target.encode(),
            None if kind is None else kind.encode(),
            ctypes.c_ulong(flags),
            None if data is None else data.encode(),
        ),
        "mount",
    )


def make_read_only(tree: str) -> None:
    """Every mount at and below `tree`: no writes, no set-uid programs, no devices."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY_NOSUID_NODEV, 0, 0, 0)
    syscall(
        _NR_MOUNT_SETATTR,
        "mount_setattr",
        ctypes.c_int(_AT_FDCWD),
        tree.encode(),
        ctypes.c_uint(_AT_RECURSIVE),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )


def change_root(new_root: str) -> None:
    """`new_root`, a mount of its own, becomes `/`; nothing of the old root stays within reach."""
    os.chdir(new_root)
    _checked(_libc.pivot_root(b".", b"."), "pivot_root")
    _checked(_libc.umount2(b".", ctypes.c_int(_MNT_DETACH)), "umount2")
    os.chdir("/")


def drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref(nothing)), "capset")
