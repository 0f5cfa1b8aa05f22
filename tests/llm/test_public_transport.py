"""What is dialled when a name is resolved (D-19)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest

from app.llm.addresses import is_public
from app.llm.ssrf import PublicOnlyBackend, PublicOnlyTransport, public_client

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "own" / "ssrf_vectors.jsonl"


def corpus(key: str) -> list[dict[str, Any]]:
    """The shared vectors that hold `key`, where they lie beside the project."""
    lines = CORPUS.read_text().splitlines() if CORPUS.exists() else []
    return [vector for vector in map(json.loads, lines) if key in vector]


OWN_BY_NAME = [
    {"url": "https://rebind.test/v1", "resolver_returns": [["93.184.216.34", "127.0.0.1"]]},
    {"url": "https://rebind.test/v1", "resolver_returns": [["93.184.216.34"], ["127.0.0.1"]]},
    {"url": "https://rebind.test/v1", "resolver_returns": [["::ffff:10.0.0.1"]]},
    {"url": "https://rebind.test/v1", "resolver_returns": [["2606:4700:4700::1111", "fe80::1%eth0"]]},
]


class RecordingStream(httpcore.AsyncMockStream):
    """Notes the names that TLS asked for."""

    names: list[str | None]

    async def start_tls(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        self.names.append(options["server_hostname"])
        return self


class RecordingBackend(httpcore.AsyncNetworkBackend):
    """Answers each connection, and notes the addresses dialled and the names that TLS asked for."""

    def __init__(self, fails: Iterable[str] = (), answer: bytes = b"HTTP/1.1 204 No Content\r\n\r\n") -> None:
        self.answer = answer
        self.dialled: list[str] = []
        self.names: list[str | None] = []
        self.fails = set(fails)

    async def connect_tcp(self, host: str, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        self.dialled.append(host)
        if host in self.fails:
            raise httpcore.ConnectError("refused")
        stream = RecordingStream([self.answer])
        stream.names = self.names
        return stream


class Resolver:
    """Gives its answers in turn, the last for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


async def get(url: str, resolver: Resolver, backend: RecordingBackend, *, allow_local: bool = False) -> httpx.Response:
    transport = PublicOnlyTransport(allow_local=allow_local, resolver=resolver, backend=backend)
    async with public_client(allow_local=allow_local, timeout=httpx.Timeout(5), transport=transport) as client:
        return await client.get(url)


async def test_the_checked_address_is_dialled_while_tls_and_host_keep_the_name() -> None:
    """D-19: resolved once, dialled as it is, SNI and Host unchanged."""
    backend, resolver = RecordingBackend(), Resolver(["93.184.216.34"], ["127.0.0.1"])
    response = await get("https://rebind.test/v1", resolver, backend)
    assert response.status_code == 204
    assert (backend.dialled, backend.names, resolver.asked) == (["93.184.216.34"], ["rebind.test"], 1)
    assert response.request.headers["host"] == "rebind.test"


@pytest.mark.parametrize("vector", [*OWN_BY_NAME, *corpus("resolver_returns")], ids=str)
async def test_a_name_never_leads_to_a_private_address(vector: dict[str, Any]) -> None:
    """D-19: one bad address among good ones refuses all; a second DNS answer is checked like the first."""
    backend, resolver = RecordingBackend(), Resolver(*vector["resolver_returns"])
    for _ in range(3):
        with contextlib.suppress(httpx.ConnectError):
            await get(vector["url"], resolver, backend)
    assert all(is_public(ip_address(address)) for address in backend.dialled)
    if len(vector["resolver_returns"]) == 1:
        assert backend.dialled == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "169.254.169.254", "127.0.0.1."]
)
async def test_a_literal_is_checked_at_connect_time_too(host: str) -> None:
    """D-19: also without the check at boot, and without asking DNS."""
    backend, resolver = RecordingBackend(), Resolver(["93.184.216.34"])
    with pytest.raises(httpx.ConnectError, match="not a public address"):
        await get(f"https://{host}/", resolver, backend)
    assert (backend.dialled, resolver.asked) == ([], 0)


async def test_loopback_is_dialled_only_where_a_local_provider_is_allowed() -> None:
    """D-19."""
    backend = RecordingBackend()
    await get("http://localhost/v1", Resolver(["::1", "127.0.0.1"]), backend, allow_local=True)
    assert backend.dialled == ["::1"]
    with pytest.raises(httpx.ConnectError):
        await get("http://printer/v1", Resolver(["192.168.0.9"]), backend, allow_local=True)


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    """D-19: a name may have several addresses."""
    backend = RecordingBackend(fails=["2606:4700:4700::1111"])
    await get("https://api.test/", Resolver(["2606:4700:4700::1111", "93.184.216.34"]), backend)
    assert backend.dialled == ["2606:4700:4700::1111", "93.184.216.34"]


async def test_a_name_without_an_address_is_an_ordinary_connection_error() -> None:
    """COP-9."""
    with pytest.raises(httpx.ConnectError):
        await get("https://api.test/", Resolver([]), RecordingBackend())


async def test_a_resolver_that_hangs_is_given_up() -> None:
    """COP-9: every wait has an end."""

    async def hang(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    backend = PublicOnlyBackend(allow_local=False, resolver=hang, backend=RecordingBackend())
    with pytest.raises(httpcore.ConnectTimeout):
        await backend.connect_tcp("api.test", 443, timeout=0.05)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_and_not_followed(status: int) -> None:
    """SEC-2, D-19."""
    answer = f"HTTP/1.1 {status} X\r\nLocation: https://127.0.0.1/\r\nContent-Length: 0\r\n\r\n".encode()
    backend = RecordingBackend(answer=answer)
    response = await get("https://api.test/", Resolver(["93.184.216.34"]), backend)
    assert response.status_code == status
    assert backend.dialled == ["93.184.216.34"]


async def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """D-19."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    backend = RecordingBackend()
    await get("https://api.test/", Resolver(["93.184.216.34"]), backend)
    assert backend.dialled == ["93.184.216.34"]
