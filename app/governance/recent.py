"""The kill switch for pages: at most a second old, so that drawing a page costs no query of its own (D-18)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.core.clock import monotonic_ms

_KEPT_MS = 1_000


class RecentSwitch:
    """Never asked before a claim, a call or a write: those read the switch itself."""

    def __init__(self, copilot_enabled: Callable[[], Awaitable[bool]]) -> None:
        self._read = copilot_enabled
        self._last: tuple[float, bool] | None = None

    async def copilot_enabled(self) -> bool:
        """What it was at most a second ago."""
        if self._last is None or monotonic_ms() - self._last[0] > _KEPT_MS:
            self._last = (monotonic_ms(), await self._read())
        return self._last[1]
