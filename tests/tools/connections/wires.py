"""Servers on loopback that answer byte for byte, and misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Wire:
    """A server that reads one request per connection, then does what `behaviour` does."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self.url = ""
        self.heads: list[str] = []
        """Request line and headers of what arrived."""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            await self._behaviour(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def says(answer: bytes) -> Behaviour:
    """Writes `answer` and closes."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return behave


def answers(body: bytes, *, status: str = "200 OK", kind: str = "application/json", more: str = "") -> Behaviour:
    """A whole answer with a length."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return says(head.encode() + body)


def hangs(answer: bytes = b"") -> Behaviour:
    """Writes `answer`, then nothing until the client leaves."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        await asyncio.wait_for(reader.read(), 10)

    return behave


def trickles() -> Behaviour:
    """A byte of an endless body every few milliseconds, so that no single read is late."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        for _ in range(1_000):
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    return behave


def floods() -> Behaviour:
    """An endless body without a length."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        for _ in range(10_000):
            writer.write(b"x" * 65_536)
            await writer.drain()

    return behave


@asynccontextmanager
async def wired(behaviour: Behaviour) -> AsyncIterator[Wire]:
    """The server, on a free port."""
    wire = Wire(behaviour)
    server = await asyncio.start_server(wire.handle, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/api"
    try:
        yield wire
    finally:
        server.close()
        await server.wait_closed()
