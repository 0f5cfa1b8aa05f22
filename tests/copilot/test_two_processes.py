"""Two web processes behind one address work as one (issue 4.11, D-1, D-2): two `desk web` on the same stores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from app.core.mongo import Database, open_mongo
from app.core.settings import Settings, load_settings
from app.desk import Desk
from app.llm.demo.script import Prepared, call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.chaos.processes import COOKIE_SECRET, JWT_SECRET, WebProcess, until, web_process
from tests.conftest import Server, ShiftedClock, Stores
from tests.copilot.crowd import crowd
from tests.copilot.stage import READ, effects, proposal, stored_call
from tests.copilot.talk import decide, make_order, open_session, say_to, watch

APPROVALS = 50
NOBODY_HELPS = {"AGENT_LEASE_MS": "600000", "AGENT_SWEEP_INTERVAL_MS": "600000"}
"""Neither sweep nor lapsed lease carries to the other process what should reach it at once."""


@pytest.fixture(scope="module")
async def shared_model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as running:
        yield running


@pytest.fixture
def model(shared_model: ScriptedModel) -> ScriptedModel:
    """The model server that both processes know."""
    shared_model.clear()
    return shared_model


@pytest.fixture(scope="module")
async def database(stores: Stores) -> AsyncIterator[Database]:
    """One of their own, which nobody empties between tests: a desk at work may rely on what it has written."""
    async with open_mongo(stores.mongodb_uri, f"{stores.database}_two") as opened:
        yield opened
        await opened.client.drop_database(opened.name)


@pytest.fixture(scope="module")
async def processes(
    stores: Stores, database: Database, shared_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[WebProcess]]:
    """Two operating-system processes, started side by side."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    settings = load_settings(
        _env_file=None,
        app_env="test",
        mongodb_uri=stores.mongodb_uri,
        mongodb_db=database.name,
        redis_url=stores.redis_url,
        desk_dir=folders[0] / ".desk",
        ai_base_url=shared_model.base_url,
    )
    async with AsyncExitStack() as running:
        starts = (web_process(settings, folder, **NOBODY_HELPS) for folder in folders)
        yield list(await asyncio.gather(*(running.enter_async_context(start) for start in starts)))


@pytest.fixture
def overrides(database: Database) -> dict[str, Any]:
    return {"mongodb_db": database.name, "jwt_secret": JWT_SECRET, "cookie_secret": COOKIE_SECRET}


@pytest.fixture
async def server(
    processes: list[WebProcess], desk: Desk, settings: Settings, clock: ShiftedClock
) -> AsyncIterator[Server]:
    """The first of the two; `desk` looks at their database from outside and carries no run."""
    first = Server(processes[0].url, desk, settings, clock)
    yield first
    await first.close()


@pytest.fixture
def other(server: Server, processes: list[WebProcess]) -> str:
    """The address of the second."""
    return processes[1].url


@asynccontextmanager
async def at(url: str, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """The same person, with the cookies they were given, at another address."""
    async with httpx.AsyncClient(base_url=url, timeout=20, trust_env=False, cookies=client.cookies) as elsewhere:
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


async def proposed_to(client: httpx.AsyncClient, some_at_once: asyncio.Semaphore) -> tuple[str, str]:
    """The person's order, and the call that waits for them."""
    async with some_at_once:
        order = await make_order(client)
        session = await open_session(client)
    async with some_at_once, say_to(client, session, "finish it") as stream:
        return order["id"], (await stream.until("tool_approval_required")).data["toolCallId"]


async def decisions(client: httpx.AsyncClient, call_id: str, addresses: tuple[str, str]) -> list[httpx.Response]:
    """Approve and reject, at both addresses, all at once: the answers in that order, address by address."""
    asked = [
        client.post(f"{address}/api/v1/ai/tool-calls/{call_id}/decide", json={"approve": approve})
        for address in addresses
        for approve in (True, False)
    ]
    return list(await asyncio.gather(*asked))


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
        *(decisions(client, call_id, (server.url, other)) for client, (_, call_id) in zip(people, waiting, strict=True))
    )
    run_ids = [(await stored_call(server, call_id))["runId"] for _, call_id in waiting]
    ended = {"_id": {"$in": run_ids}, "status": "complete"}

    async def all_ended() -> bool:
        return await server.desk.database["agentruns"].count_documents(ended) == APPROVALS

    await until(all_ended, 60)
    for (order_id, call_id), four in zip(waiting, answers, strict=True):
        kept = await stored_call(server, call_id)
        approved = kept["approval"]["status"] == "approved"
        agreeing, differing = (four[0::2], four[1::2]) if approved else (four[1::2], four[0::2])
        assert [answer.status_code for answer in agreeing] == [200, 200]
        assert [answer.json()["error"]["code"] for answer in differing] == ["AI_APPROVAL_RESOLVED"] * 2
        assert kept["outcome"] == ("executed" if approved else "rejected")
        assert await effects(server, order_id) == ([call_id] if approved else [])
