"""The HTTP adapter of connections, over the transport that checks every address it dials (D-19, T-10).

Each call opens its own connection: one kept from an earlier call may be dead, and then nobody could say whether the
request arrived. Exceptions of the HTTP library are never chained: their requests hold the secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import httpx

from app.llm.ssrf import AddressRefused, check_base_url, public_client
from app.tools.connections.port import Answer, Outgoing, SendFailed


class HttpSender:
    """A `Sender`. `allow_local` admits http and loopback (development and test only).

    `transport` replaces the checked one (tests of that transport).
    """

    def __init__(self, *, allow_local: bool, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._allow_local = allow_local
        self._transport = transport

    def refusal(self, base_url: str) -> str | None:
        """See `Sender.refusal`."""
        try:
            check_base_url(base_url, allow_local=self._allow_local, key="address")
        except ValueError as error:
            return str(error).removeprefix("address: ")
        return None

    async def send(self, outgoing: Outgoing) -> Answer:
        """See `Sender.send`. The time limit covers everything, from the name's look-up to the last byte."""
        progress = _Progress()
        try:
            async with asyncio.timeout(outgoing.timeout_s), self._client(outgoing) as client:
                request = client.build_request(
                    outgoing.method,
                    outgoing.url,
                    headers=outgoing.headers,
                    content=outgoing.content,
                    extensions={"trace": progress.note},
                )
                return await _exchange(client, request, outgoing)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, TimeoutError) as error:
            reason = _reason(error)
        raise SendFailed(reason, maybe_sent=progress.has_begun)

    def _client(self, outgoing: Outgoing) -> httpx.AsyncClient:
        timeout = httpx.Timeout(outgoing.timeout_s)
        return public_client(allow_local=self._allow_local, timeout=timeout, transport=self._transport)


class _Progress:
    """Whether a first byte of the request may have left."""

    def __init__(self) -> None:
        self.has_begun = False

    async def note(self, event: str, _info: dict[str, Any]) -> None:
        self.has_begun = self.has_begun or "send_request_headers.started" in event


class _Secret(httpx.Auth):
    """Adds the header when the request leaves, and shows it nowhere (SEC-1)."""

    def __init__(self, header: str, value: str) -> None:
        self._header, self._value = header, value

    def __repr__(self) -> str:
        return "_Secret()"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers[self._header] = self._value
        yield request


async def _exchange(client: httpx.AsyncClient, request: httpx.Request, outgoing: Outgoing) -> Answer:
    auth = _Secret(*outgoing.secret) if outgoing.secret else None
    response = await client.send(request, stream=True, auth=auth)
    try:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise SendFailed("the answer is compressed, which was not asked for", maybe_sent=True)
        body = await _read(response, outgoing.max_bytes)
    finally:
        await response.aclose()
    content_type = response.headers.get("content-type", "")[:200]
    return Answer(response.status_code, content_type, body or b"", is_whole=body is not None)


async def _read(response: httpx.Response, max_bytes: int) -> bytes | None:
    """The body, None where it is longer than `max_bytes`."""
    told = response.headers.get("content-length", "")
    if told.isascii() and told.isdigit() and len(told) < 20 and int(told) > max_bytes:
        return None
    parts: list[bytes] = []
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > max_bytes:
            return None
        parts.append(chunk)
    return b"".join(parts)


def _reason(error: Exception) -> str:
    if isinstance(error.__cause__, AddressRefused):
        return "its address is not public"
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return "it did not answer in time"
    return "it cannot be reached" if isinstance(error, httpx.ConnectError) else "the connection broke"
