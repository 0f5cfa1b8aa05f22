"""The model server: `POST /v1/chat/completions`, `GET /v1/models`, `GET /health`, as plain ASGI under uvicorn.

Plain, because a script plays responses byte for byte and breaks them off, which frameworks smooth over.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from app.llm.demo import rules_copilot, rules_triage
from app.llm.demo.render import MODEL, as_complete, as_stream
from app.llm.demo.script import Prepared, Raw, Script

MAX_BODY_BYTES = 4 * 1024 * 1024
GATE_TIMEOUT_S = 60.0
CHUNK_PAUSE_S = 0.02

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]


def create_demo_app(script: Script | None = None, *, chunk_pause_s: float = CHUNK_PAUSE_S) -> App:
    """The ASGI app. `chunk_pause_s` is the pause between two chunks of a stream, in seconds."""
    played = script or Script()

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _handle(scope, receive, send, played, chunk_pause_s)

    return app


async def serve(host: str, port: int, *, chunk_pause_s: float = CHUNK_PAUSE_S) -> None:
    """Runs until interrupted (`desk demo-model`)."""
    app = create_demo_app(chunk_pause_s=chunk_pause_s)
    await uvicorn.Server(uvicorn.Config(app, host=host, port=port, lifespan="off", access_log=False)).serve()


async def _handle(scope: Any, receive: Receive, send: Send, script: Script, pause_s: float) -> None:
    route = scope["method"], scope["path"].rstrip("/")
    if route == ("GET", "/health"):
        raw = _json(200, {"status": "ok"})
    elif route == ("GET", "/v1/models"):
        raw = _json(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "work-order-desk"}]})
    elif route == ("POST", "/v1/chat/completions"):
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        raw = await _chat(await _body(receive), headers, script)
    else:
        raw = _json(404, _error("There is nothing at this address."))
    await _Player(raw, receive, send, script, pause_s).play()


async def _chat(body: bytes | None, headers: dict[str, str], script: Script) -> Raw:
    request = _request(body)
    if request is None:
        return _json(400, _error("The body must be a JSON object with a list of messages."))
    prepared = await script.take(request, headers) or by_rules(request)
    if isinstance(prepared, Raw):
        return prepared
    return as_stream(prepared, request) if request.get("stream") else as_complete(prepared, request)


def by_rules(request: dict[str, Any]) -> Prepared:
    """The answer of the keyword rules to an OpenAI chat request."""
    try:
        return rules_triage.propose(request) if rules_triage.is_triage(request) else rules_copilot.answer(request)
    except (KeyError, TypeError, AttributeError):  # a message of the wrong shape
        return Raw(400, {"Content-Type": "application/json"}, (json.dumps(_error("Malformed message.")).encode(),))


class _Player:
    """Sends one response chunk by chunk, waits at its gates, and notices when the client leaves."""

    def __init__(self, raw: Raw, receive: Receive, send: Send, script: Script, pause_s: float) -> None:
        self._raw, self._receive, self._send, self._script, self._pause_s = raw, receive, send, script, pause_s

    async def play(self) -> None:
        gone = asyncio.create_task(self._client_leaves())
        play = asyncio.create_task(self._respond())
        try:
            await asyncio.wait({gone, play}, return_when=asyncio.FIRST_COMPLETED)
            if not play.done():
                await self._script.note_disconnect()
            else:
                play.result()
        finally:
            for task in (gone, play):
                task.cancel()
            await asyncio.gather(gone, play, return_exceptions=True)

    async def _client_leaves(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _respond(self) -> None:
        raw = self._raw
        await _passed(raw.before)
        headers = [(name.lower().encode(), value.encode()) for name, value in raw.headers.items()]
        await self._send({"type": "http.response.start", "status": raw.status, "headers": headers, "trailers": False})
        for number, chunk in enumerate(raw.chunks):
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
            await asyncio.sleep(self._pause_s if number + 1 < len(raw.chunks) else 0)
            if number == 0:
                await _passed(raw.middle)
        if raw.end == "close":
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        # else: uvicorn closes the connection without the final chunk, which the client meets as a broken answer


async def _passed(gate: asyncio.Event | None) -> None:
    if gate is not None:
        async with asyncio.timeout(GATE_TIMEOUT_S):
            await gate.wait()


async def _body(receive: Receive) -> bytes | None:
    """The request's body, None where it is too large or the client left."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        size += len(message["body"])
        if size > MAX_BODY_BYTES:
            return None
        parts.append(message["body"])
        if not message["more_body"]:
            return b"".join(parts)


def _request(body: bytes | None) -> dict[str, Any] | None:
    try:
        request = json.loads(body or b"")
    except (ValueError, RecursionError):
        return None
    messages = request.get("messages") if isinstance(request, dict) else None
    return request if isinstance(messages, list) and all(isinstance(m, dict) for m in messages) else None


def _json(status: int, value: dict[str, Any]) -> Raw:
    return Raw(status, {"Content-Type": "application/json"}, (json.dumps(value).encode(),))


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}
