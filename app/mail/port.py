"""Where mail leaves the desk. The adapter is chosen where the program is assembled (AUTH-7)."""

from __future__ import annotations

from typing import Protocol


class MailNotSent(Exception):
    """The mail did not leave. The message names the cause's kind, never the mail's text."""


class Mailer(Protocol):
    async def send(self, to: str, subject: str, text: str) -> None:
        """Sends one plain-text mail. Raises `MailNotSent`."""
        ...
