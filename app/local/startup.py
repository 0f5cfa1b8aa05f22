"""A start that fails for a reason that a person can mend ends in that reason's lines, not in a stack trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.core.settings import SettingsError


class PlainStartup:
    """An ASGI app whose start-up failure is told to the server in plain lines where it is a `SettingsError`."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        failures: list[Any] = []

        async def held_back(message: Any) -> None:
            if message["type"] == "lifespan.startup.failed":
                failures.append(message)
            else:
                await send(message)

        try:
            await self._app(scope, receive, held_back)
        except BaseException as error:
            lines = [line for fault in _settings_errors(error) for line in fault.lines]
            if not lines:
                raise
            failures[:] = [{"type": "lifespan.startup.failed", "message": "\n".join(lines)}]
        for message in failures:
            await send(message)


def _settings_errors(error: BaseException) -> Iterator[SettingsError]:
    """Those that `error` is or holds."""
    if isinstance(error, SettingsError):
        yield error
    elif isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _settings_errors(inner)
