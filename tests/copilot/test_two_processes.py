"""Two web processes behind one address work as one (issue 4.11, D-1, D-2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from bson import ObjectId

from app.accounts.tokens import AccessTokens
from app.core.settings import Settings
from app.desk import Desk, open_desk
from app.llm.demo.script import Prepared, call, say
from app.llm.demo.scripted_model import ScriptedModel
from app.main import create_app
from tests.conftest import Server, ShiftedClock, serving
from tests.copilot.stage import READ, effects, proposal, stored_call
from tests.copilot.talk import decide, make_order, open_session, say_to, watch
from tests.worker.processes import until

APPROVALS = 50


@pytest.fixture
async def other(server: Server, settings: Settings, clock: ShiftedClock) -> AsyncIterator[str]:
    """The address of a second web program on the same stores."""

    @asynccontextmanager
    async def opener(given: Settings) -> AsyncIterator[Desk]:
        async with open_desk(given, clock) as desk:
            yield desk

    async with serving(create_app(settings, opener)) as url:
        yield url


@asynccontextmanager
async def at(url: str, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """The same person at another address."""
    async with httpx.AsyncClient(base_url=url, timeout=20, trust_env=False) as elsewhere:
        for cookie in client.cookies.jar:
            elsewhere.cookies.set(cookie.name, cookie.value or "")
        yield elsewhere


@pytest.mark.parametrize("where", ["where it was asked", "elsewhere"])
async def test_started_on_one_watched_and_decided_on_another(
    server: Server, model: ScriptedModel, other: str, where: str
) -> None:
    """Issue 4.11, D-2: both streams tell the same; one effect, wherever the decision is made."""
    async with proposal(server, model, say("Done, in words.")) as waiting, at(other, waiting.owner) as elsewhere:
        assert [item["id"] for item in (await elsewhere.get("/api/v1/ai/approvals")).json()["data"]] == [
            waiting.call_id
        ]
        async with watch(elsewhere, waiting.run_id) as there:
            asked = (await there.until("tool_approval_required")).data
            assert asked == waiting.asked
            decider = waiting.owner if where == "where it was asked" else elsewhere
            answer = await decide(decider, waiting.call_id, approve=True, confirmationToken=asked["confirmationToken"])
            assert answer.status_code == 200
            here, heard = await asyncio.gather(waiting.stream.to_the_end(), there.to_the_end())
        assert [(event.id, event.data) for event in here] == [(event.id, event.data) for event in heard]
        assert heard[-1].name == "message_done"
        assert await effects(server, waiting.order["id"]) == [waiting.call_id]


async def test_a_working_run_is_watched_live_from_another_process(
    server: Server, model: ScriptedModel, other: str
) -> None:
    """D-2: tokens cross processes while they are told, and a stop reaches the run from anywhere."""
    owner = await server.sign_in_as("owner")
    middle = asyncio.Event()
    model.add(say("first words, " * 5 + "last words", middle=middle))
    async with say_to(owner, await open_session(owner), "go") as stream, at(other, owner) as elsewhere:
        async with watch(elsewhere, stream.run_id) as there:
            await there.until("token")
            stopped = await elsewhere.post(f"/api/v1/ai/runs/{stream.run_id}/cancel")
            assert stopped.status_code == 200
            async with asyncio.timeout(10):
                here, heard = await asyncio.gather(stream.to_the_end(), there.to_the_end())
        middle.set()
    assert [event.id for event in here] == [event.id for event in heard]
    assert heard[-1].data["code"] == "ABORTED"


def obliging(body: dict[str, Any]) -> Prepared:
    """A model that reads, then proposes to finish the first order, then closes: whoever asks, in whatever order."""
    last = body["messages"][-1]
    if last["role"] == "user":
        return call(READ)
    if last["content"].startswith("["):
        return call("update_work_order", {"id": json.loads(last["content"])[0]["id"], "status": "done"})
    return say("So it is.")


async def crowd(server: Server, count: int) -> list[httpx.AsyncClient]:
    """`count` technicians, signed in, without the cost of as many password hashes."""
    person = await server.person("owner")
    users = server.desk.database["users"]
    model_row = await users.find_one({"_id": person.id})
    assert model_row is not None
    rows = [model_row | {"_id": ObjectId(), "email": f"person{n}@example.com"} for n in range(count)]
    await users.insert_many(rows)
    tokens = AccessTokens(server.settings.jwt_secret.get_secret_value(), server.clock)
    clients = []
    for row in rows:
        client = await server.client()
        client.timeout = httpx.Timeout(60)
        client.cookies.set("access_token", tokens.issue(row["_id"], "user", "crowd"))
        clients.append(client)
    return clients


async def proposed_to(client: httpx.AsyncClient, some_at_once: asyncio.Semaphore) -> tuple[str, str]:
    """The person's order, and the call that waits for them."""
    async with some_at_once:
        order = await make_order(client)
        session = await open_session(client)
    async with some_at_once, say_to(client, session, "finish it") as stream:
        return order["id"], (await stream.until("tool_approval_required")).data["toolCallId"]


@pytest.mark.timeout(100)
async def test_two_hundred_decisions_at_once_have_fifty_winners(
    server: Server, model: ScriptedModel, other: str
) -> None:
    """Issue 4, D-5, D-6, scenario 1.7: approve and reject on both processes; 150 agree with the winner, one effect."""
    model.add(*[obliging] * 3 * APPROVALS)
    people = await crowd(server, APPROVALS)
    some_at_once = asyncio.Semaphore(10)
    waiting = await asyncio.gather(*(proposed_to(client, some_at_once) for client in people))
    answers = await asyncio.gather(
        *(
            asyncio.gather(
                *(
                    client.post(f"{address}/api/v1/ai/tool-calls/{call_id}/decide", json={"approve": approve})
                    for address in (server.url, other)
                    for approve in (True, False)
                )
            )
            for client, (_, call_id) in zip(people, waiting, strict=True)
        )
    )
    runs = server.desk.database["agentruns"]

    async def all_ended() -> bool:
        return await runs.count_documents({"status": "complete"}) == APPROVALS

    await until(all_ended)
    for (order_id, call_id), four in zip(waiting, answers, strict=True):
        kept = await stored_call(server, call_id)
        approved = kept["approval"]["status"] == "approved"
        agreeing, differing = (four[0::2], four[1::2]) if approved else (four[1::2], four[0::2])
        assert [answer.status_code for answer in agreeing] == [200, 200]
        assert [answer.json()["error"]["code"] for answer in differing] == ["AI_APPROVAL_RESOLVED"] * 2
        assert kept["outcome"] == ("executed" if approved else "rejected")
        assert await effects(server, order_id) == ([call_id] if approved else [])
