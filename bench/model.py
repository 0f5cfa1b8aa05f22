"""A model server that does what the last user message says, at a pace that it keeps.

`bench tokens=500 rate=100` streams 500 tokens, 100 a second (`rate=0`: as fast as they are taken); each token is the
moment at which it was sent. `bench steps=20` asks for a tool 20 times, then ends. `bench writes=1` reads, then proposes
to change what it read. Anything else gets a triage proposal.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import uvicorn
import uvloop

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

READ, WRITE = "list_my_work_orders", "update_work_order"
_ORDER = re.compile(r"bench (tokens|steps|writes)=(\d+)(?: rate=(\d+))?")
_PROPOSAL = '{"summary":"A pump leaks.","suggestedPriority":"medium","flagForDispatcher":false}'
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
_BASE = {"id": "chatcmpl-bench", "created": 0, "model": "bench"}


def ask_for_tokens(count: int, rate: int, name: str = "") -> str:
    """The message that makes the model stream. `name` only tells askers apart."""
    return f"bench tokens={count} rate={rate} {name}".rstrip()


def ask_for_steps(count: int) -> str:
    """The message that makes the model use the reading tool."""
    return f"bench steps={count}"


def ask_for_a_write() -> str:
    """The message that makes the model read, and propose one change."""
    return "bench writes=1"


async def app(scope: Any, receive: Receive, send: Send) -> None:
    if scope["path"] == "/health":
        await _whole(send, {"status": "ok"})
        return
    request = json.loads(await _body(receive))
    kind, count, rate, done = _wanted(request["messages"])
    if kind == "tokens":
        await _streamed(send, _tokens(count, rate))
        return
    message: dict[str, Any]
    if kind == "steps" and done < count:
        message = {"content": None, "tool_calls": [_search(done)]}
    elif kind == "writes" and done <= count:
        message = {"content": None, "tool_calls": [_change(request["messages"][-1]) if done else _search(0)]}
    else:
        message = {"content": _PROPOSAL if kind == "triage" else "Done."}
    if request.get("stream"):
        await _streamed(send, _at_once(message))
    else:
        await _whole(send, _completion(message))


def _wanted(messages: list[dict[str, Any]]) -> tuple[str, int, int, int]:
    """What the last user message asks for, and how many tool results have come since."""
    done = 0
    for message in reversed(messages):
        if message["role"] == "tool":
            done += 1
        elif message["role"] == "user":
            found = _ORDER.search(json.dumps(message["content"]))
            return (found[1], int(found[2]), int(found[3] or 0), done) if found else ("triage", 0, 0, 0)
    return "triage", 0, 0, 0


async def _tokens(count: int, rate: int) -> AsyncIterator[dict[str, Any]]:
    start = time.monotonic()
    for number in range(count):
        if rate and (early := start + number / rate - time.monotonic()) > 0:
            await asyncio.sleep(early)
        yield _chunk({"content": f"{time.monotonic():.6f} "})
    yield _chunk({}, "stop")


async def _at_once(message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    calls = [call | {"index": 0} for call in message.get("tool_calls", [])]
    yield _chunk({"role": "assistant", **message} | ({"tool_calls": calls} if calls else {}))
    yield _chunk({}, "tool_calls" if calls else "stop")


def _search(number: int) -> dict[str, Any]:
    """Another search each time, so that no answer can be kept from the one before."""
    return _call(number, READ, {"search": f"pump {number}"})


def _change(result: dict[str, Any]) -> dict[str, Any]:
    """A change of the first order that was just read; `_id` is how the frameworks' tool names it."""
    order = json.loads(result["content"])[0]
    return _call(1, WRITE, {"id": order.get("id") or order["_id"], "priority": "high"})


def _call(number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_BASE, "object": "chat.completion.chunk", "choices": [choice]}


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {**_BASE, "object": "chat.completion", "choices": [choice], "usage": _USAGE}


async def _streamed(send: Send, chunks: AsyncIterator[dict[str, Any]]) -> None:
    await send(_start(b"text/event-stream"))
    async for chunk in chunks:
        await send({"type": "http.response.body", "body": _line(json.dumps(chunk)), "more_body": True})
    usage = {**_BASE, "object": "chat.completion.chunk", "choices": [], "usage": _USAGE}
    await send({"type": "http.response.body", "body": _line(json.dumps(usage)) + _line("[DONE]")})


async def _whole(send: Send, value: dict[str, Any]) -> None:
    await send(_start(b"application/json"))
    await send({"type": "http.response.body", "body": json.dumps(value).encode()})


def _start(kind: bytes) -> dict[str, Any]:
    return {"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]}


def _line(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def main() -> None:
    """Serves on `PORT` until it is told to stop."""
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
    )
    uvloop.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()
