"""Which protections this machine gives, found by trying them once (T-11)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.tools.sandbox.errors import SandboxUnavailable
from app.tools.sandbox.limits import Limits
from app.tools.sandbox.start import ENVIRONMENT, command, plan, scratch_folder

_PROBE_S = 15.0
_NAMESPACES = (
    frozenset({"mount", "pid", "net", "ipc", "uts"}),
    frozenset({"pid", "net", "ipc", "uts"}),  # where the root cannot be exchanged
    frozenset[str](),
)


@dataclass(frozen=True, slots=True)
class Protection:
    """What holds for every call. `landlock` is the kernel's ABI version, 0 where there is none."""

    landlock: int
    seccomp: bool
    namespaces: frozenset[str]
    own_user: bool
    as_root: bool

    @property
    def complete(self) -> bool:
        """Whether the sandbox may be used outside development and test: files and calls are both closed."""
        return self.landlock > 0 and self.seccomp

    @property
    def line(self) -> str:
        """One line for the boot log."""
        held = [
            f"Landlock (ABI {self.landlock})" if self.landlock else "",
            "seccomp" if self.seccomp else "",
            f"namespaces ({', '.join(sorted(self.namespaces))})" if self.namespaces else "",
            "a user of its own" if self.own_user else "",
            "no_new_privs and limits",
        ]
        text = f"Custom tools run under {', '.join(filter(None, held))}."
        missing = self._missing()
        return f"{text} Missing: {', '.join(missing)}." if missing else text

    def _missing(self) -> list[str]:
        missing = [] if self.landlock else ["Landlock (needs Linux 5.13 or newer with Landlock switched on)"]
        if not self.seccomp:
            missing.append("seccomp (needs Linux on x86-64 or aarch64)")
        if not self.namespaces:
            missing.append("namespaces (not given here)")
        if self.as_root and not self.own_user:
            missing.append("another user (the interpreter cannot be read by one), so root without capabilities")
        return missing


def probe(limits: Limits, *, namespaces: bool = True) -> Protection:
    """The strongest protection that can be set up here. Blocks for about 0.3 s per try.

    `namespaces=False` leaves them alone, as a container without the right to them does. Raises `SandboxUnavailable`.
    """
    as_root = os.geteuid() == 0
    fault = "no attempt was made"
    for names, own_user in _attempts(as_root, namespaces):
        with scratch_folder() as scratch:
            answer = _try(limits, scratch, names, own_user)
        held = answer.get("held")
        if isinstance(held, dict):
            return Protection(held["landlock"], held["seccomp"], names, own_user, as_root)
        fault = str(next(iter(answer.values()), "it ended without an answer"))
    raise SandboxUnavailable(f"No sandbox for custom tools can be set up here: {fault}.")


def _attempts(as_root: bool, namespaces: bool) -> Iterator[tuple[frozenset[str], bool]]:
    for own_user in (True, False) if as_root else (False,):
        for names in _NAMESPACES if namespaces else _NAMESPACES[-1:]:
            yield names, own_user


def _try(limits: Limits, scratch: Path, names: frozenset[str], own_user: bool) -> dict[str, Any]:
    attempt = plan(limits, scratch, None, namespaces=names, own_user=own_user)
    try:
        done = subprocess.run(  # noqa: S603  # our own program
            command(attempt),
            input=b'{"do":"probe"}\n',
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            start_new_session=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"broken": type(error).__name__}
    first = next((line for line in done.stdout.splitlines() if line.strip()), b"{}")
    answer: dict[str, Any] = json.loads(first)
    return answer
