"""Mail by SMTP (AUTH-7). `SMTP_URL`: `smtp[s]://[user:password@]host[:port][?starttls=true|false&from=address]`."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import parse_qs, unquote, urlsplit

import aiosmtplib

from app.mail.port import MailNotSent

_TIMEOUT_S = 15.0
_RULE = "SMTP_URL: must be smtp://[user:password@]host[:port] or smtps://…, with ?starttls=true|false and ?from=address"


@dataclass(frozen=True, slots=True)
class SmtpAddress:
    """A parsed `SMTP_URL`. `start_tls`: True demands it, False forbids it, None takes it where offered."""

    host: str
    port: int
    tls: bool
    start_tls: bool | None
    sender: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str, default_sender: str) -> SmtpAddress:
        """Raises `ValueError` with a line that names the key and what is allowed, never the value."""
        try:
            parts = urlsplit(url)
            port, query = parts.port, parse_qs(parts.query, strict_parsing=bool(parts.query))
        except ValueError:
            raise ValueError(_RULE) from None
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname or not set(query) <= {"starttls", "from"}:
            raise ValueError(_RULE)
        tls = parts.scheme == "smtps"
        port = port or (465 if tls else 25)
        username = unquote(parts.username) if parts.username else None
        asked = query.get("starttls", [""])[-1]
        return cls(
            host=parts.hostname,
            port=port,
            tls=tls,
            start_tls=_start_tls(asked, tls=tls, default=port == 587 or username is not None),
            sender=query.get("from", [default_sender])[-1],
            username=username,
            password=unquote(parts.password) if parts.password else None,
        )


def _start_tls(asked: str, *, tls: bool, default: bool) -> bool | None:
    if asked not in ("", "true", "false"):
        raise ValueError(_RULE)
    if tls:
        return False
    if asked:
        return asked == "true"
    return True if default else None  # a password is never sent in clear unless the address says so


class SmtpMailer:
    def __init__(self, address: SmtpAddress) -> None:
        self._address = address

    async def send(self, to: str, subject: str, text: str) -> None:
        address = self._address
        try:
            await aiosmtplib.send(
                self._message(to, subject, text),
                hostname=address.host,
                port=address.port,
                username=address.username,
                password=address.password,
                use_tls=address.tls,
                start_tls=address.start_tls,
                timeout=_TIMEOUT_S,
            )
        except (aiosmtplib.SMTPException, OSError, TimeoutError, ValueError) as fault:
            raise MailNotSent(type(fault).__name__) from None

    def _message(self, to: str, subject: str, text: str) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._address.sender, to, subject
        message["Date"] = formatdate(usegmt=True)
        message["Message-ID"] = make_msgid(domain=self._address.sender.rpartition("@")[2] or "localhost")
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        return message
