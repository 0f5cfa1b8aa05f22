"""The seccomp filter as a classic BPF program, made from the table in `syscalls` (T-11)."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from . import kernel
from .syscalls import BY_ARGUMENT, FIRST_MODERN, MODERN_ADMITTED, REFUSED, ArgumentRule

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the table, AUDIT_ARCH_*

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, ALU|AND|K, JMP|…|K, RET|K
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

_Step = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def known() -> bool:
    """Whether the table has a column for this machine."""
    return kernel.LINUX and platform.machine() in _MACHINES


def restrict() -> None:
    """Refuses the calls of the table from now on, in this thread and those it starts. Needs no_new_privs.

    Raises `OSError` where the kernel has no seccomp.
    """
    column, arch = _MACHINES[platform.machine()]
    code = b"".join(struct.pack("=HBBI", *step) for step in program(column, arch))
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    kernel.prctl(_PR_SET_SECCOMP, _MODE_FILTER, filter_)


def program(column: int, arch: int) -> list[_Step]:
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL_PROCESS),  # a 32-bit call: its numbers mean other things
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for numbers in REFUSED.values():
        steps += _refuse(numbers[column])
    for rule in BY_ARGUMENT:
        steps += _refuse_by_argument(rule, column)
    for number in MODERN_ADMITTED:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    return [
        *steps,
        (_AT_LEAST, 0, 1, FIRST_MODERN),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _refuse(number: int) -> list[_Step]:
    return [] if number < 0 else [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]


def _refuse_by_argument(rule: ArgumentRule, column: int) -> list[_Step]:
    number = rule.numbers[column]
    if number < 0:
        return []
    offset = _ARGUMENTS_AT + 8 * rule.argument + (4 if rule.high else 0)  # both machines are little-endian
    passes_when_equal = (1, 0) if rule.unless else (0, 1)
    return [
        (_EQUAL, 0, 5, number),
        (_LOAD, 0, 0, offset),
        (_AND, 0, 0, rule.mask),
        (_EQUAL, *passes_when_equal, rule.value),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
