"""Landlock: the files that the process may still touch, and nothing beyond (T-11).

The two bindings on PyPI are alpha releases, one knows file rules only; what is needed of the ABI fits here and has to
run before any package can be imported.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

from . import kernel

_NR_CREATE_RULESET, _NR_ADD_RULE, _NR_RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_REMOVE_FILE = 1 << 5
_MAKE_REG = 1 << 8
_TRUNCATE = 1 << 14

# What each ABI version can handle; an unhandled right stays granted, a handled one is refused unless a rule grants it.
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_RIGHTS = 0b11  # bind and connect TCP, from ABI 4
_SCOPES = 0b11  # abstract unix sockets and signals, from ABI 6

READ = _READ_FILE | _READ_DIR
# A flat folder: without directories and links there is nothing odd to clean up afterwards.
SCRATCH = READ | _WRITE_FILE | _REMOVE_FILE | _MAKE_REG | _TRUNCATE
_RIGHTS_OF_A_FILE = _READ_FILE | _WRITE_FILE | _TRUNCATE


class _RulesetAttr(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi() -> int:
    """The kernel's Landlock ABI version; 0 where there is none or it is switched off."""
    if not kernel.LINUX:
        return 0
    try:
        return kernel.syscall(_NR_CREATE_RULESET, "landlock", None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except OSError:
        return 0


def restrict(version: int, read: Iterable[str], scratch: str) -> None:
    """From now on: `read` (files and trees) can be read, `scratch` written, no TCP, no signal to the outside.

    Needs no_new_privs. `version` is what `abi` gave. Raises `OSError`.
    """
    handled = _FILE_RIGHTS[min(version, max(_FILE_RIGHTS))]
    ruleset = _create(handled, _NET_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    try:
        for path in read:
            _admit(ruleset, path, READ & handled)
        _admit(ruleset, scratch, SCRATCH & handled)
        kernel.syscall(_NR_RESTRICT_SELF, "landlock_restrict_self", ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _create(files: int, net: int, scopes: int) -> int:
    attr = _RulesetAttr(files, net, scopes)
    # An older kernel takes a longer structure as long as the part that it does not know is zero.
    return kernel.syscall(
        _NR_CREATE_RULESET,
        "landlock_create_ruleset",
        ctypes.byref(attr),
        ctypes.c_size_t(ctypes.sizeof(attr)),
        ctypes.c_uint32(0),
    )


def _admit(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _RIGHTS_OF_A_FILE
        rule = _PathBeneathAttr(rights, descriptor)
        kernel.syscall(
            _NR_ADD_RULE,
            "landlock_add_rule",
            ctypes.c_int(ruleset),
            ctypes.c_int(_RULE_PATH_BENEATH),
            ctypes.byref(rule),
            ctypes.c_uint32(0),
        )
    finally:
        os.close(descriptor)
