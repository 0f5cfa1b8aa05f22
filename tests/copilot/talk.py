"""An ordinary client of the copilot's JSON door, as tests use it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Heard:
    """One event of a stream."""

    name: str
    id: str
    data: dict[str, Any]


@dataclass
class Listener:
    """Reads a run's stream. `heard` grows; `until` waits for the next event of a name."""

    response: httpx.Response
    heard: list[Heard] = field(default_factory=list)
    _lines: AsyncIterator[Heard] | None = None

    @property
    def run_id(self) -> str:
        return self.response.headers["x-run-id"]

    async def until(self, *names: str) -> Heard:
        """The next event that has one of `names`; everything on the way is kept in `heard`."""
        if self._lines is None:
            self._lines = _events(self.response)
        async for event in self._lines:
            self.heard.append(event)
            if event.name in names:
                return event
        raise AssertionError(f"the stream ended without {names}; heard {[event.name for event in self.heard]}")

    async def to_the_end(self) -> list[Heard]:
        """Every event of the stream."""
        if self._lines is None:
            self._lines = _events(self.response)
        async for event in self._lines:
            self.heard.append(event)
        return self.heard

    def named(self, name: str) -> list[Heard]:
        return [event for event in self.heard if event.name == name]

    @property
    def text(self) -> str:
        return "".join(event.data["content"] for event in self.named("token"))


async def _events(response: httpx.Response) -> AsyncIterator[Heard]:
    buffer = b""
    async for chunk in response.aiter_raw():
        buffer += chunk
        while b"\n\n" in buffer:
            block, buffer = buffer.split(b"\n\n", 1)
            fields = dict(
                line.split(": ", 1) for line in block.decode().split("\n") if line and not line.startswith(":")
            )
            if "data" in fields:
                yield Heard(fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"]))


async def open_session(client: httpx.AsyncClient) -> str:
    answer = await client.post("/api/v1/ai/sessions")
    assert answer.status_code == 201, answer.text
    return str(answer.json()["data"]["id"])


@asynccontextmanager
async def say_to(client: httpx.AsyncClient, session: str, content: str, **headers: str) -> AsyncIterator[Listener]:
    """Sends a message and listens."""
    request = client.build_request(
        "POST",
        f"/api/v1/ai/sessions/{session}/messages",
        json={"content": content},
        headers={"Accept": "text/event-stream"} | {key.replace("_", "-"): value for key, value in headers.items()},
    )
    response = await client.send(request, stream=True)
    try:
        if response.status_code != 200:
            await response.aread()
            raise AssertionError(f"{response.status_code}: {response.text}")
        yield Listener(response)
    finally:
        await response.aclose()


@asynccontextmanager
async def watch(client: httpx.AsyncClient, run_id: str, after: str | None = None) -> AsyncIterator[Listener]:
    """Watches a run from the start, or after an event id."""
    headers = {"Last-Event-ID": after} if after else {}
    async with client.stream("GET", f"/api/v1/ai/runs/{run_id}/events", headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        yield Listener(response)


async def decide(client: httpx.AsyncClient, call_id: str, **body: Any) -> httpx.Response:
    return await client.post(f"/api/v1/ai/tool-calls/{call_id}/decide", json=body)


async def make_order(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/api/v1/work-orders", json={"title": "Pump leaks at the flange"} | fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]  # type: ignore[no-any-return]
