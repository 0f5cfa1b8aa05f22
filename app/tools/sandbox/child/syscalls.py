"""What the seccomp filter refuses: a table by name, with the numbers of x86-64 and aarch64 (T-11).

The list closes what Landlock leaves open: processes, signals, sockets, shared memory, and changes of a file's mode,
owner or times, which need no open file and therefore pass Landlock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_ABSENT: Final = -1  # aarch64 never had the older form of the call

REFUSED: Final[dict[str, tuple[int, int]]] = {
    # Other programs and processes.
    "fork": (57, _ABSENT), "vfork": (58, _ABSENT), "execve": (59, 221), "execveat": (322, 281),
    "unshare": (272, 97), "setns": (308, 268), "setpgid": (109, 154), "setsid": (112, 157),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "setpriority": (141, 140), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "ioprio_set": (251, 30),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
    # Sockets, and memory or queues that others could share.
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "msgget": (68, 186), "msgsnd": (69, 189),
    "semget": (64, 190), "mq_open": (240, 180), "memfd_create": (319, 279),
    # Files, past Landlock.
    "chmod": (90, _ABSENT), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, _ABSENT), "fchown": (93, 55),
    "lchown": (94, _ABSENT), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "utime": (132, _ABSENT), "utimes": (235, _ABSENT), "futimesat": (261, _ABSENT), "utimensat": (280, 88),
    "truncate": (76, 45), "mknod": (133, _ABSENT), "mknodat": (259, 33),
    "inotify_init": (253, _ABSENT), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # The machine.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "reboot": (169, 142), "syslog": (103, 116),
    "sethostname": (170, 161), "setdomainname": (171, 162), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "personality": (135, 92), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "io_setup": (206, 0), "io_submit": (209, 2),
    "seccomp": (317, 277), "iopl": (172, _ABSENT), "ioperm": (173, _ABSENT), "modify_ldt": (154, _ABSENT),
    "vmsplice": (278, 75),
}  # fmt: skip


@dataclass(frozen=True)
class ArgumentRule:
    """Refuses a call by one argument: when `argument & mask` equals `value`, or, with `unless`, when it does not."""

    call: str
    numbers: tuple[int, int]
    argument: int
    mask: int
    value: int
    unless: bool = False
    high: bool = False  # the upper 32 bits of the argument instead of the lower


_ALL = 0xFFFFFFFF
_PRCTL, _FCNTL, _IOCTL, _SENDTO = (157, 167), (72, 25), (16, 29), (44, 206)
_OPEN, _OPENAT = (2, _ABSENT), (257, 56)
_CLONE_THREAD = 0x10000
_O_TRUNC_AND_ACCMODE, _O_TRUNC = 0o1003, 0o1000

BY_ARGUMENT: Final = (
    ArgumentRule("clone", (56, 220), 0, _CLONE_THREAD, _CLONE_THREAD, unless=True),  # threads, but no processes
    ArgumentRule("prctl", _PRCTL, 0, _ALL, 15, unless=True),  # PR_SET_NAME of a thread; never PDEATHSIG
    ArgumentRule("prlimit64", (302, 261), 0, _ALL, 0, unless=True),  # its own limits, not those of the desk
    ArgumentRule("socketpair", (53, 199), 1, 0xF, 1, unless=True),  # the event loop's own; a datagram one could send
    ArgumentRule("sendto", _SENDTO, 4, _ALL, 0, unless=True),  # no address
    ArgumentRule("sendto", _SENDTO, 4, _ALL, 0, unless=True, high=True),
    ArgumentRule("fcntl", _FCNTL, 1, _ALL, 8),  # F_SETOWN and its like send signals
    ArgumentRule("fcntl", _FCNTL, 1, _ALL, 15),
    ArgumentRule("ioctl", _IOCTL, 1, _ALL, 0x8901),
    ArgumentRule("ioctl", _IOCTL, 1, _ALL, 0x8902),
    ArgumentRule("open", _OPEN, 1, _O_TRUNC_AND_ACCMODE, _O_TRUNC),  # read-only and truncating: ABI 1 and 2 let it pass
    ArgumentRule("openat", _OPENAT, 2, _O_TRUNC_AND_ACCMODE, _O_TRUNC),
)

# From this number on both machines count alike. All is answered "no such call", so that libc falls back (clone3) and
# whatever kernels will add is out; the exceptions are close_range, faccessat2 and futex_waitv.
FIRST_MODERN: Final = 424
MODERN_ADMITTED: Final = (436, 439, 449)
