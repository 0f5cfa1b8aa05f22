"""Mail for a desk without `SMTP_URL`: a log line, its secrets cut (AUTH-7)."""

from __future__ import annotations

import re

from app.core.logging import get_logger

log = get_logger(__name__)

_TOKEN = re.compile(r"(\btoken=)[^\s&]+")


def redacted(text: str) -> str:
    """`text` without the tokens of its links."""
    return _TOKEN.sub(r"\1[redacted]", text)


class LogMailer:
    """Logs each mail. With `show_links` (development) the whole text follows, at debug level only."""

    def __init__(self, *, show_links: bool) -> None:
        self._show_links = show_links

    async def send(self, to: str, subject: str, text: str) -> None:
        log.info("mail_not_sent_no_smtp", to=to, subject=subject, text=redacted(text))
        if self._show_links:
            log.debug("mail_text", to=to, text=text)
