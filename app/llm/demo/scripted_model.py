"""The model server inside the running event loop, on a free loopback port: for tests and `desk doctor`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import uvicorn

from app.llm.demo.script import Script, Step
from app.llm.demo.server import create_demo_app

START_TIMEOUT_S = 10.0


class ScriptedModel(Script):
    """A `Script` with a server around it.

        async with ScriptedModel(say("Hello")) as model:
            provider = OpenAICompatProvider(model.base_url, "key", "demo", allow_local=True)
            ...
            await model.received(1)

    Leaving ends the server and drops its connections.
    """

    def __init__(self, *steps: Step) -> None:
        super().__init__(*steps)
        self._socket: socket.socket | None = None
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.base_url = ""
        """`http://127.0.0.1:<port>/v1` while it runs."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        app = create_demo_app(self, chunk_pause_s=0)
        config = uvicorn.Config(
            app, lifespan="off", access_log=False, log_config=None, timeout_graceful_shutdown=1, http="h11", ws="none"
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve([self._socket]))
        async with asyncio.timeout(START_TIMEOUT_S):
            await self._server.ready.wait()

    async def stop(self) -> None:
        if self._server is None or self._serving is None or self._socket is None:
            return
        self._server.should_exit = self._server.force_exit = True
        await self._serving
        self._server.drop_connections()
        self._socket.close()


class _Server(uvicorn.Server):
    """Without signal handlers, which belong to the process around it; says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    def drop_connections(self) -> None:
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
