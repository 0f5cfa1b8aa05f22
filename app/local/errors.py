"""The failure of a local service or of the launcher."""

from __future__ import annotations


class LocalServiceError(Exception):
    """A service or the launcher could not start. The text is one line for a person and says what to do."""


class PortInUse(LocalServiceError):
    """The port that was asked for is taken by another program."""

    def __init__(self, port: int, free: int | None) -> None:
        advice = f"set PORT={free}" if free else "set PORT to a free one"
        super().__init__(f"Port {port} is in use. Stop the other program or {advice}.")
