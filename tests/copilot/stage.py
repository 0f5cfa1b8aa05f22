"""A proposal of the copilot, made with the scripted model and waiting for its owner."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from bson import ObjectId

from app.llm.demo.script import Step, call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.talk import Listener, decide, make_order, open_session, say_to

READ = "list_my_work_orders"


@dataclass
class Proposal:
    """What waits: the event as it was told, the order as it was, and the stream that tells the rest."""

    owner: httpx.AsyncClient
    order: dict[str, Any]
    stream: Listener
    asked: dict[str, Any]
    session: str

    @property
    def call_id(self) -> str:
        return str(self.asked["toolCallId"])

    @property
    def run_id(self) -> str:
        return self.stream.run_id

    async def decide(self, **body: Any) -> httpx.Response:
        return await decide(self.owner, self.call_id, **body)

    async def order_now(self) -> dict[str, Any]:
        answer = await self.owner.get(f"/api/v1/work-orders/{self.order['id']}")
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]  # type: ignore[no-any-return]


@asynccontextmanager
async def proposal(
    server: Server,
    model: ScriptedModel,
    *then: Step,
    tool: str = "update_work_order",
    args: dict[str, Any] | None = None,
    who: str = "owner",
    order_fields: dict[str, Any] | None = None,
) -> AsyncIterator[Proposal]:
    """The model reads, then proposes `tool`; after the decision it goes on with `then`."""
    owner = await server.sign_in_as(who)
    order = await make_order(owner, **({"priority": "low"} | (order_fields or {})))
    if args is None:
        args = {"update_work_order": {"priority": "high"}, "create_work_order": {"title": "A new pump"}}.get(tool, {})
    target = {} if tool == "create_work_order" else {"id": order["id"]}
    model.add(call(READ), call(tool, target | args), *(then or (say("So it is."),)))
    session = await open_session(owner)
    async with say_to(owner, session, "please change it") as stream:
        asked = (await stream.until("tool_approval_required")).data
        yield Proposal(owner, order, stream, asked, session)


async def effects(server: Server, order_id: str) -> list[str]:
    """The tool calls that left their mark in an order, oldest first."""
    found = await server.desk.database["workorders"].find_one({"_id": ObjectId(order_id)})
    assert found is not None
    return [mark["toolCallId"] for mark in found.get("history", []) if mark.get("toolCallId")]


async def stored_call(server: Server, call_id: str) -> dict[str, Any]:
    found = await server.desk.database["agenttoolcalls"].find_one({"_id": ObjectId(call_id)})
    assert found is not None
    return found


def told(body: dict[str, Any]) -> list[str]:
    """The texts of the tool messages in a request to the model, in order."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def assert_valid_for_the_provider(body: dict[str, Any]) -> None:
    """Every call is followed by exactly one result with its id, before anything else is said (scenario 2.2)."""
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a result without its call"
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == [], f"calls without results: {waiting}"
        waiting = [made["id"] for made in message.get("tool_calls") or []]
    assert waiting == []


async def turn(
    client: httpx.AsyncClient, model: ScriptedModel, *steps: Step, words: str = "please", session: str | None = None
) -> Listener:
    """A whole turn that needs no decision, heard to its end."""
    model.add(*steps)
    async with say_to(client, session or await open_session(client), words) as stream:
        await stream.to_the_end()
    return stream


def results(stream: Listener) -> list[tuple[str, Any]]:
    """Outcome, and the code of what did not work, of each call in the order in which they ended."""
    listed = []
    for event in stream.named("tool_result"):
        result = event.data.get("result")
        listed.append((event.data["outcome"], result.get("code") if isinstance(result, dict) else None))
    return listed


async def csrf_of(client: httpx.AsyncClient) -> str:
    """The token of the person's forms."""
    page = (await client.get("/app/copilot")).text
    return page.split('name="_csrf_token" value="')[1].split('"')[0]
