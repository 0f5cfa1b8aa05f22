"""Mail leaves by SMTP, or shows in the log with its token cut (AUTH-7)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import structlog

from app.core.logging import get_logger
from app.mail.log import LogMailer, redacted
from app.mail.port import MailNotSent
from app.mail.smtp import SmtpAddress, SmtpMailer
from tests.mail.inbox import Inbox, running_inbox

LINK = "https://desk.test/reset-password?token=s3cret-t0ken_x"
SENDER = "no-reply@desk.test"


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    async with running_inbox() as box:
        yield box


async def test_a_mail_arrives_as_it_was_written(inbox: Inbox) -> None:
    """AUTH-7"""
    address = SmtpAddress.parse(f"smtp://127.0.0.1:{inbox.port}?from=desk@desk.test", SENDER)
    text = f"Hello Zoë,\n\n{LINK}\n"
    await SmtpMailer(address).send("ada@example.com", "Reset your password", text)
    envelope, message = await asyncio.wait_for(inbox.mails.get(), 10)
    assert (envelope.mail_from, envelope.rcpt_tos) == ("desk@desk.test", ["ada@example.com"])
    assert (message["To"], message["Subject"]) == ("ada@example.com", "Reset your password")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content().replace("\r\n", "\n") == text


async def test_a_refused_mail_is_told_without_its_text(inbox: Inbox) -> None:
    """AUTH-7, SEC-10"""
    inbox.refuses = True
    address = SmtpAddress.parse(f"smtp://127.0.0.1:{inbox.port}", SENDER)
    with pytest.raises(MailNotSent) as caught:
        await SmtpMailer(address).send("ada@example.com", "Reset", LINK)
    assert "s3cret" not in str(caught.value)


async def test_a_server_that_is_not_there_is_told() -> None:
    """AUTH-7"""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = SmtpAddress.parse(f"smtp://127.0.0.1:{taken.getsockname()[1]}", SENDER)
        with pytest.raises(MailNotSent):
            await SmtpMailer(address).send("ada@example.com", "Reset", LINK)


async def test_where_tls_is_asked_for_nothing_is_sent_without_it(inbox: Inbox) -> None:
    """AUTH-7: a server that does not offer STARTTLS"""
    address = SmtpAddress.parse(f"smtp://user:pass@127.0.0.1:{inbox.port}", SENDER)
    with pytest.raises(MailNotSent):
        await SmtpMailer(address).send("ada@example.com", "Reset", LINK)
    assert inbox.mails.empty()


async def test_a_line_break_in_a_header_is_refused(inbox: Inbox) -> None:
    """AUTH-7"""
    address = SmtpAddress.parse(f"smtp://127.0.0.1:{inbox.port}", SENDER)
    with pytest.raises(MailNotSent):
        await SmtpMailer(address).send("ada@example.com", "Reset\r\nBcc: x@example.com", LINK)
    assert inbox.mails.empty()


@pytest.mark.parametrize(
    ("url", "port", "tls", "start_tls"),
    [
        ("smtp://mail.test", 25, False, None),
        ("smtp://mail.test:587", 587, False, True),
        ("smtp://u:p@mail.test", 25, False, True),
        ("smtp://u:p@mail.test?starttls=false", 25, False, False),
        ("smtp://mail.test?starttls=true", 25, False, True),
        ("smtps://u:p%40ss@mail.test", 465, True, False),
    ],
)
def test_the_address_says_how_to_connect(url: str, port: int, tls: bool, start_tls: bool | None) -> None:
    """AUTH-7"""
    address = SmtpAddress.parse(url, SENDER)
    assert (address.host, address.port, address.tls, address.start_tls) == ("mail.test", port, tls, start_tls)
    assert address.sender == SENDER
    assert address.password in (None, "p", "p@ss")
    assert "p@ss" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://mail.test",
        "smtp://",
        "smtp://mail.test:port",
        "smtp://mail.test?starttls=maybe",
        "smtp://h?x=1",
        "smtp://h?x",
    ],
)
def test_a_bad_address_names_the_key_and_not_the_value(url: str) -> None:
    """AUTH-7"""
    with pytest.raises(ValueError, match=r"^SMTP_URL: must be") as caught:
        SmtpAddress.parse(url, SENDER)
    assert "mail.test" not in str(caught.value)


@pytest.fixture
def fresh_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A logger that has not been used: a used one keeps to how logging was set up then, by any test before."""
    monkeypatch.setattr("app.mail.log.log", get_logger("app.mail.log"))


@pytest.mark.usefixtures("fresh_log")
async def test_without_smtp_the_log_tells_of_the_mail_and_cuts_the_token() -> None:
    """AUTH-7, SEC-10"""
    with structlog.testing.capture_logs() as lines:
        await LogMailer(show_links=False).send("ada@example.com", "Reset", f"go to {LINK}&x=1")
    assert [line["log_level"] for line in lines] == ["info"]
    assert lines[0]["text"] == "go to https://desk.test/reset-password?token=[redacted]&x=1"


@pytest.mark.usefixtures("fresh_log")
async def test_in_development_the_whole_link_shows_at_debug_level_only() -> None:
    """AUTH-7"""
    with structlog.testing.capture_logs() as lines:
        await LogMailer(show_links=True).send("ada@example.com", "Reset", LINK)
    assert {line["log_level"]: "s3cret" in str(line) for line in lines} == {"info": False, "debug": True}


def test_every_token_of_a_text_is_cut() -> None:
    """SEC-10"""
    assert redacted("a?token=x b?token=y&z") == "a?token=[redacted] b?token=[redacted]&z"
