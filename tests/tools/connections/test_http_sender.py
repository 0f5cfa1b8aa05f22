"""The HTTP adapter of connections, against real servers on loopback that misbehave."""

from __future__ import annotations

import dataclasses
from typing import Any

import httpcore
import httpx
import pytest

from app.llm.ssrf import PublicOnlyTransport
from app.local.ports import free_port
from app.tools.connections.http_sender import HttpSender
from app.tools.connections.port import Answer, Outgoing, SendFailed
from tests.tools.connections.wires import Behaviour, answers, floods, hangs, says, trickles, wired

SECRET = "Bearer wire-5510-secret"
LOCAL = HttpSender(allow_local=True)


def outgoing(url: str, **more: Any) -> Outgoing:
    given: dict[str, Any] = {"method": "POST", "timeout_s": 5.0, "max_bytes": 1_000, "content": b"{}"}
    return Outgoing(url=url, secret=("Authorization", SECRET), **(given | more))


async def test_one_request_with_the_secret_and_its_headers_arrives() -> None:
    """T-10: identity encoding, no cookie, exactly the given address."""
    async with wired(answers(b'{"a":1}')) as wire:
        answer = await LOCAL.send(outgoing(f"{wire.url}/x%2Fy?a=%26", headers={"Idempotency-Key": "k1"}))
    assert answer == Answer(200, "application/json", b'{"a":1}')
    (head,) = wire.heads
    assert head.startswith("POST /api/x%2Fy?a=%26 HTTP/1.1\r\n")
    sent = {line.split(": ")[0].lower(): line.split(": ", 1)[1] for line in head.split("\r\n")[1:] if line}
    assert (sent["authorization"], sent["idempotency-key"], sent["accept-encoding"]) == (SECRET, "k1", "identity")
    assert "cookie" not in sent


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hangs(), "it did not answer in time"),
        (hangs(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), "it did not answer in time"),
        (trickles(), "it did not answer in time"),
        (says(b""), "the connection broke"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nabc"), "the connection broke"),
        (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"), "the connection broke"),
        (says(b"SSH-2.0-OpenSSH_9.6\r\n"), "the connection broke"),
        (answers(b"x", more="Content-Encoding: gzip\r\n"), "the answer is compressed, which was not asked for"),
    ],
    ids=["silent", "half", "trickle", "closed", "short", "chunk", "no http", "gzip"],
)
async def test_a_failure_after_the_request_left_says_that_it_may_have_arrived(
    behaviour: Behaviour, reason: str
) -> None:
    """T-10, D-5: the time limit is for the whole exchange; no cause that holds the secret is chained."""
    async with wired(behaviour) as wire:
        with pytest.raises(SendFailed) as raised:
            await LOCAL.send(outgoing(wire.url, timeout_s=0.3 if "time" in reason else 10))
        assert len(wire.heads) == 1
    failed = raised.value
    assert (failed.reason, failed.maybe_sent) == (reason, True)
    assert failed.__cause__ is failed.__context__ is None


@pytest.mark.parametrize(
    "behaviour",
    [floods(), answers(b"x" * 1_001), says(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n")],
    ids=["endless", "one byte more", "announced"],
)
async def test_an_answer_over_the_limit_is_not_read(behaviour: Behaviour) -> None:
    """T-10."""
    async with wired(behaviour) as wire:
        answer = await LOCAL.send(outgoing(wire.url))
    assert (answer.status, answer.body, answer.is_whole) == (200, b"", False)


async def test_an_answer_at_the_limit_is_whole() -> None:
    """T-10."""
    async with wired(answers(b"x" * 1_000)) as wire:
        assert (await LOCAL.send(outgoing(wire.url))).is_whole


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    """T-10, D-19."""
    async with wired(answers(b"never")) as other:
        more = f"Location: {other.url}\r\n"
        async with wired(answers(b"", status=f"{status} Elsewhere", more=more)) as wire:
            assert (await LOCAL.send(outgoing(wire.url))).status == status
    assert other.heads == []


async def test_where_nobody_listens_nothing_was_sent() -> None:
    """T-10, D-5."""
    with pytest.raises(SendFailed) as raised:
        await LOCAL.send(outgoing(f"http://127.0.0.1:{free_port()}/api"))
    assert (raised.value.reason, raised.value.maybe_sent) == ("it cannot be reached", False)


REFUSED = [
    "https://127.0.0.1/api", "https://127.1/api", "https://0x7f.1/api", "https://2130706433/api", "https://localhost/api",
    "https://localhost./api", "https://[::1]/api", "https://[::ffff:127.0.0.1]/api", "https://10.1.2.3/api",
    "https://169.254.169.254/latest", "https://192.168.0.9/api", "https://[fe80::1]/api", "https://printer.local/api",
    "https://[64:ff9b::a9fe:a9fe]/api", "https://0177.0.0.1/api", "https://127。0。0。1/api", "http://api.example.com/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
async def test_an_address_that_is_not_public_is_refused_before_and_while_dialling(url: str) -> None:
    """T-10, D-19."""
    strict = HttpSender(allow_local=False)
    assert strict.refusal(url) is not None
    if url.startswith("https://"):
        with pytest.raises(SendFailed) as raised:
            await strict.send(outgoing(url))
        assert not raised.value.maybe_sent


def test_loopback_is_admitted_only_where_local_addresses_are() -> None:
    """T-10, D-19: the local exception is for this machine, not for the network."""
    assert LOCAL.refusal("http://127.0.0.1:8791/api") is None
    assert HttpSender(allow_local=False).refusal("http://127.0.0.1:8791/api") is not None
    for url in ("http://192.168.0.9/api", "http://api.example.com/", "https://169.254.169.254/"):
        assert LOCAL.refusal(url) is not None


async def test_a_name_that_resolves_to_a_private_address_is_refused_in_plain_words() -> None:
    """T-10, D-19: at connect time, whatever the name was."""

    async def resolver(_host: str, _port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    transport = PublicOnlyTransport(allow_local=False, resolver=resolver, backend=httpcore.AsyncMockBackend([]))
    with pytest.raises(SendFailed) as raised:
        await HttpSender(allow_local=False, transport=transport).send(outgoing("https://api.example.com/"))
    assert (raised.value.reason, raised.value.maybe_sent) == ("its address is not public", False)


def test_the_secret_shows_in_no_representation() -> None:
    """SEC-1."""
    request = outgoing("https://api.example.com/")
    assert SECRET not in repr(request)
    assert SECRET in str(dataclasses.asdict(request))
    from app.tools.connections.http_sender import _Secret

    assert SECRET not in repr(_Secret("Authorization", SECRET))
    assert isinstance(_Secret("A", "b"), httpx.Auth)
