"""A mail server that keeps what it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, Envelope, Session


class Inbox:
    """A real SMTP server on loopback; `mails` awaits what it took."""

    def __init__(self) -> None:
        self.mails: asyncio.Queue[tuple[Envelope, EmailMessage]] = asyncio.Queue(10)
        self.refuses = False
        self.port = 0

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.refuses:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        await self.mails.put((envelope, message))
        return "250 OK"


@asynccontextmanager
async def running_inbox() -> AsyncIterator[Inbox]:
    """Serves until the block ends."""
    box, loop = Inbox(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(box, loop=loop), "127.0.0.1", 0)
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()
        await server.wait_closed()
