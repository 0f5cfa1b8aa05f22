"""An ordinary client of the console's door, as tests use it (T-12, T-14)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from app.llm.demo.script import Step, call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import READ
from tests.copilot.talk import Heard, Listener, make_order

CHAT = "/api/ai/agent-chat"
SHAPES = {
    "thinking": {"content"},
    "message": {"content"},
    "tool_call": {"id", "tool_name", "arguments"},
    "tool_result": {"tool_call_id", "result", "success", "duration_ms"},
    "metrics": {"loop_count", "tokens_used", "input_tokens", "output_tokens", "tool_calls", "uptime_seconds"},
    "confirmation_required": {
        "endpoint", "method", "reason", "escalated", "timestamp", "tool_call_id", "tool_name", "risk",
        "confirmation_token", "expires_at", "diff",
    },
    "error": {"code", "message", "recoverable"},
    "stream_end": {"reason", "had_error"},
}  # fmt: skip


@asynccontextmanager
async def chat(
    client: httpx.AsyncClient, message: str = "please", chat_id: str | None = None, **headers: str
) -> AsyncIterator[Listener]:
    """Says something to the console and listens."""
    body = {"message": message} | ({"chatId": chat_id} if chat_id else {})
    async with client.stream(
        "POST", CHAT, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    ) as response:
        if response.status_code != 200:
            await response.aread()
            raise AssertionError(f"{response.status_code}: {response.text}")
        yield Listener(response)


async def whole_chat(
    client: httpx.AsyncClient, model: ScriptedModel, *steps: Step, message: str = "please", chat_id: str | None = None
) -> list[Heard]:
    """A turn that needs no decision, heard to its end."""
    model.add(*steps)
    async with chat(client, message, chat_id) as stream:
        return await stream.to_the_end()


async def confirm(client: httpx.AsyncClient, token: str, *, approve: bool = True, **body: Any) -> httpx.Response:
    return await client.post("/api/ai/confirm", json={"confirmation_token": token, "approve": approve} | body)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of what was refused."""
    return answer.status_code, answer.json()["error"]["code"]


@dataclass
class Question:
    """A proposal that waits in a console's stream."""

    owner: httpx.AsyncClient
    order: dict[str, Any]
    stream: Listener
    asked: dict[str, Any]

    @property
    def token(self) -> str:
        return str(self.asked["confirmation_token"])

    @property
    def call_id(self) -> str:
        return str(self.asked["tool_call_id"])

    async def confirm(self, *, approve: bool = True, **body: Any) -> httpx.Response:
        return await confirm(self.owner, self.token, approve=approve, **body)

    async def order_now(self) -> dict[str, Any]:
        answer = await self.owner.get(f"/api/v1/work-orders/{self.order['id']}")
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]  # type: ignore[no-any-return]


@asynccontextmanager
async def question(
    server: Server,
    model: ScriptedModel,
    *then: Step,
    tool: str = "update_work_order",
    args: dict[str, Any] | None = None,
) -> AsyncIterator[Question]:
    """The model reads, then proposes `tool` (the order's priority to high); after the decision it goes on."""
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, priority="low")
    target = {} if tool == "create_work_order" else {"id": order["id"]}
    wanted = {"priority": "high"} if tool == "update_work_order" and args is None else args or {}
    model.add(call(READ), call(tool, target | wanted), *(then or (say("So it is."),)))
    async with chat(owner) as stream:
        yield Question(owner, order, stream, (await stream.until("confirmation_required")).data)


def assert_well_formed(heard: list[Heard]) -> None:
    """T-14: known events in their shapes, the chat named first, one result a call, errors before the one end."""
    names = [event.name for event in heard]
    for event in heard:
        if event.name == "status_changed":
            assert {"status"} <= set(event.data) <= {"status", "message", "chat_id"}
        else:
            assert set(event.data) == SHAPES[event.name], event
    assert heard[0].name == "status_changed"
    assert "chat_id" in heard[0].data
    assert names.count("stream_end") == 1
    assert names[-1] == "stream_end"
    assert names.count("error") == int(heard[-1].data["had_error"]) <= 1
    called = [event.data["id"] for event in heard if event.name == "tool_call"]
    answered = [event.data["tool_call_id"] for event in heard if event.name == "tool_result"]
    assert len(called) == len(set(called))
    assert called == answered


def outline(heard: list[Heard]) -> list[str]:
    """The events' names with the states, pieces of one text counted once."""
    told: list[str] = []
    for event in heard:
        name = f"{event.name}:{event.data['status']}" if event.name == "status_changed" else event.name
        if name != "message" or told[-1:] != ["message"]:
            told.append(name)
    return told


def said(heard: list[Heard]) -> str:
    return "".join(event.data["content"] for event in heard if event.name == "message")
