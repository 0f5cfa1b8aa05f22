"""The password hash at its real cost: a process of its own, because the suite runs at the lowest."""

from __future__ import annotations

import asyncio
import re
import sys

_MAKE = "import asyncio; from app.accounts.passwords import Passwords; print(asyncio.run(Passwords().hash('Rosa1234')))"


async def test_a_password_is_hashed_with_argon2id_at_a_serious_cost() -> None:
    """AUTH-12: argon2id with at least 19 MiB and two passes, or more memory (OWASP's floor)."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _MAKE, stdout=asyncio.subprocess.PIPE)
    made, _ = await asyncio.wait_for(process.communicate(), 30)
    found = re.match(rb"\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$", made)
    assert found is not None
    memory_kib, passes = int(found[1]), int(found[2])
    assert memory_kib >= 19_456
    assert passes >= 2
