"""What a machine gives, as the boot log and the check before custom tools are admitted have it (T-11)."""

from __future__ import annotations

import pytest

from app.tools.sandbox.child import seccomp
from app.tools.sandbox.child.syscalls import REFUSED
from app.tools.sandbox.protection import Protection
from app.tools.sandbox.sandbox import Sandbox


def protection(landlock: int = 7, **changed: object) -> Protection:
    values: dict[str, object] = {"seccomp": True, "namespaces": frozenset({"net"}), "own_user": True, "as_root": True}
    return Protection(landlock, **values | changed)  # type: ignore[arg-type]


def test_boot_says_what_holds() -> None:
    """T-11."""
    held = "Landlock (ABI 7), seccomp, namespaces (net), a user of its own, no_new_privs and limits"
    assert protection().line == f"Custom tools run under {held}."
    assert "Missing: namespaces" in protection(namespaces=frozenset()).line
    assert "root without capabilities" in protection(own_user=False).line
    assert "another user" not in protection(own_user=False, as_root=False).line


def test_without_landlock_or_the_filter_it_is_not_complete() -> None:
    """T-11: such a machine is refused outside development and test."""
    assert protection().complete
    assert not protection(landlock=0).complete
    assert not protection(seccomp=False).complete
    assert "Missing: Landlock" in protection(landlock=0).line
    assert protection(namespaces=frozenset(), own_user=False).complete


def test_this_machine_s_sandbox_is_complete(sandbox: Sandbox) -> None:
    """T-11: the tests of hostile tools prove nothing on a machine where it is not."""
    assert sandbox.holds.complete, sandbox.holds.line


@pytest.mark.parametrize("column", [0, 1], ids=["x86_64", "aarch64"])
def test_the_filter_s_jumps_stay_inside_it(column: int) -> None:
    """T-11: a classic BPF program ends in a return whichever way it goes, on both machines."""
    steps = seccomp.program(column, 0)
    assert len(steps) < 4096
    for index, (_code, true, false, _operand) in enumerate(steps):
        assert index + 1 + max(true, false) < len(steps) or index == len(steps) - 1
    assert steps[-1][3] == 0x7FFF0000
    numbers = [numbers[column] for numbers in REFUSED.values() if numbers[column] >= 0]
    assert len(numbers) == len(set(numbers))
