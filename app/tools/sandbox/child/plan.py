"""What the desk decided before it started this process: the protections to set up, and the limits."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Handed over as JSON on the command line. Nothing in it is secret: the tool could read it.

    `namespaces` names what to unshare (`mount`, `pid`, `net`, `ipc`, `uts`); `own_user` asks for a user of the
    process's own (only root can). `landlock` and `seccomp` are what must hold: the process ends when they do not.
    """

    desk_pid: int
    scratch: str
    read: tuple[str, ...]
    packages: tuple[str, ...]
    desk_tool: str
    namespaces: frozenset[str]
    own_user: bool
    landlock: bool
    seccomp: bool
    wall_s: float
    cpu_s: int
    memory_bytes: int
    threads: int
    descriptors: int
    file_bytes: int
    scratch_bytes: int
    scratch_files: int
    message_bytes: int

    def to_json(self) -> str:
        return json.dumps(self.__dict__ | {"namespaces": sorted(self.namespaces)})

    @classmethod
    def from_json(cls, text: str) -> Plan:
        values = json.loads(text)
        lists = {name: tuple(values[name]) for name in ("read", "packages")}
        return cls(**values | lists | {"namespaces": frozenset(values["namespaces"])})
