"""Only to the open internet (D-19): the check of a base URL at boot, and a client that checks what it dials.

A name is resolved once per connection; every address it resolves to must be public, and one of exactly those is
dialled, so a second DNS answer cannot redirect the connection. TLS still speaks to the name. With `allow_local`
(development and test only) loopback is admitted too, and plain http to it.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from ipaddress import ip_address

import httpcore
import httpx

from app.llm.addresses import Address, is_loopback, is_public, literal

MAX_ADDRESSES = 8
MAX_CONNECTIONS = 256
"""As many answers as one process may stream at a time; `make bench` runs 200."""
MAX_URL = 2048
_LOCAL_NAMES = re.compile(r"(?:.*\.)?(?:localhost|localdomain|local|internal|intranet|home\.arpa)\Z")
_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Host and port → the texts of its addresses. Raises `OSError` where there is none."""


class AddressRefused(httpcore.ConnectError):
    """The host is, or resolves to, an address that is not public."""


def check_base_url(url: str, *, allow_local: bool, key: str = "AI_BASE_URL") -> None:
    """Raises `ValueError` with one plain line that begins with `key` unless `url` may be called (SEC-2, D-19).

    Without DNS: what a name resolves to is checked at each connection.
    """
    if fault := _url_fault(url, allow_local=allow_local):
        raise ValueError(f"{key}: {fault}")


def public_client(
    *, allow_local: bool, timeout: httpx.Timeout, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncClient:
    """A client without redirects, proxies from the environment, cookies of note, or compressed answers."""
    return httpx.AsyncClient(
        transport=transport or PublicOnlyTransport(allow_local=allow_local),
        timeout=timeout,
        trust_env=False,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity", "User-Agent": "work-order-desk"},
    )


class PublicOnlyTransport(httpx.AsyncHTTPTransport):
    """httpx's transport over a pool whose connections go through `PublicOnlyBackend`."""

    def __init__(
        self,
        *,
        allow_local: bool,
        resolver: Resolver | None = None,
        backend: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        context = _tls_context()
        super().__init__(verify=context, trust_env=False)
        self._pool = _pool(context, PublicOnlyBackend(allow_local=allow_local, resolver=resolver, backend=backend))


class PublicOnlyBackend(httpcore.AsyncNetworkBackend):
    """Resolves once, refuses if any address is not public, then dials the addresses it has checked, in order."""

    def __init__(
        self,
        *,
        allow_local: bool,
        resolver: Resolver | None = None,
        backend: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._allow_local = allow_local
        self._resolve = resolver or resolve
        self._backend = backend or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (httpcore's signature)
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._checked(host, port)
                share = None if timeout is None else timeout / len(addresses)
                return await self._dial(addresses, port, share, local_address, socket_options)
        except TimeoutError:
            raise httpcore.ConnectTimeout("connection timed out") from None

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)

    async def _checked(self, host: str, port: int) -> list[Address]:
        try:
            spelled = literal(host)
            texts = [str(spelled)] if spelled else await self._resolve(host, port)
            addresses = [ip_address(text) for text in dict.fromkeys(texts)]
        except (OSError, ValueError):
            raise httpcore.ConnectError("host does not resolve") from None
        if not addresses or not all(_admitted(address, allow_local=self._allow_local) for address in addresses):
            raise AddressRefused("not a public address")
        return addresses[:MAX_ADDRESSES]

    async def _dial(
        self,
        addresses: list[Address],
        port: int,
        share: float | None,
        local_address: str | None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None,
    ) -> httpcore.AsyncNetworkStream:
        options = list(socket_options or ())
        for address in addresses[:-1]:
            try:
                return await self._backend.connect_tcp(str(address), port, share, local_address, options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._backend.connect_tcp(str(addresses[-1]), port, share, local_address, options)


async def resolve(host: str, port: int) -> list[str]:
    """The system's resolver, off the event loop."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in infos]


@cache
def _tls_context() -> ssl.SSLContext:
    """One for the process: reading the certificates takes tens of milliseconds."""
    return httpx.create_ssl_context(trust_env=False)


def _pool(context: ssl.SSLContext, backend: httpcore.AsyncNetworkBackend) -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(
        ssl_context=context,
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=16,
        keepalive_expiry=15,
        network_backend=backend,
    )


def _admitted(address: Address, *, allow_local: bool) -> bool:
    return is_public(address) or (allow_local and is_loopback(address))


def _url_fault(url: str, *, allow_local: bool) -> str | None:
    if not url or len(url) > MAX_URL or _UNFIT.search(url):
        return "must be an address without spaces, control characters or backslashes"
    try:
        parsed = httpx.URL(url)
        host = parsed.raw_host.decode("ascii").lower()
    except (httpx.InvalidURL, ValueError):
        return "is not a valid address"
    rules = (
        (parsed.scheme in ("https", "http"), "must start with https://"),
        ("@" not in url, "must hold no user name or password"),
        ("?" not in url and "#" not in url, "must hold no query and no fragment"),
        (bool(host.rstrip(".")) and "%" not in host, "names no host"),
        (parsed.port is None or 0 < parsed.port < 65536, "must name a port from 1 to 65535"),
    )
    fault = next((message for holds, message in rules if not holds), None)
    return fault or _host_fault(host, allow_local=allow_local, is_http=parsed.scheme == "http")


def _host_fault(host: str, *, allow_local: bool, is_http: bool) -> str | None:
    try:
        address = literal(host)
    except ValueError:
        return "names a host that ends in a number but is no address"
    bare = host.rstrip(".")
    is_local = is_loopback(address) if address else bare == "localhost" or bare.endswith(".localhost")
    if is_local and allow_local:
        return None
    if is_http:
        return "must start with https:// (http is for this machine only, with AI_ALLOW_LOCAL_PROVIDER=true)"
    private = not is_public(address) if address else _LOCAL_NAMES.match(bare) is not None
    return "must name a public host" if private else None
