"""kill -9 after each thing that a turn brings about: nothing hangs, nothing is doubled or lost (D-1, D-5, D-10).

Every point has a person, an order, and a web process of its own that dies there; one healthy process stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from bson import ObjectId

from app.accounts.tokens import AccessTokens
from app.core.clock import SystemClock
from app.core.settings import Settings
from app.desk import Desk
from app.llm.demo.script import Prepared, call, say
from app.llm.demo.scripted_model import ScriptedModel
from app.local.ports import free_port
from app.runs.schemas import FINAL_OUTCOMES
from tests.chaos.processes import JWT_SECRET, ROOT, answers, environment, until
from tests.copilot.talk import Listener, decide, make_order, open_session, say_to, watch

AT_ONCE = 4
MOST_POINTS = 80
ONE_CALL_USD = (1_000 * 0.15 + 100 * 0.60) / 1_000_000


def obliging(body: dict[str, Any]) -> Prepared:
    """Reads, proposes to finish the order, and closes, whoever asks."""
    last, usage = body["messages"][-1], (1_000, 100)
    if last["role"] == "user":
        return call("list_my_work_orders", text="Let me look. ", usage=usage)
    if last["content"].startswith("["):
        target = json.loads(last["content"])[0]["id"]
        return call("update_work_order", {"id": target, "status": "done"}, usage=usage)
    return say("So it is.", usage=usage)


@dataclass
class Forks:
    """The program that makes web processes, and those that live."""

    program: subprocess.Popen[str]
    children: list[int] = field(default_factory=list)
    one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self, fault_at: int) -> tuple[str, int]:
        """A web process that dies at `fault_at`; its address and process id."""
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        port = free_port()
        async with self.one_by_one:
            self.program.stdin.write(f"{port} {fault_at}\n")
            self.program.stdin.flush()
            child = int(await asyncio.to_thread(self.program.stdout.readline))
        self.children.append(child)
        url = f"http://127.0.0.1:{port}"
        await until(lambda: answers(url))
        return url, child

    def kill(self, child: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


@pytest.fixture
async def forks(settings: Settings, tmp_path: Path) -> AsyncIterator[Forks]:
    program = await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, str(ROOT / "tests" / "chaos" / "faulty_web.py")],
        cwd=tmp_path,
        env=environment(settings, 1) | {"AGENT_LEASE_MS": "1200", "AI_SSE_KEEPALIVE_MS": "250", "LOG_LEVEL": "error"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    made = Forks(program)
    yield made
    for child in made.children:
        made.kill(child)
    program.kill()
    await asyncio.to_thread(program.wait, 10)
    for pipe in (program.stdin, program.stdout):
        if pipe is not None:
            pipe.close()


@dataclass
class Person:
    """Somebody with one turn, and what they were told."""

    id: ObjectId
    name: str
    cookie: str
    order_id: str = ""
    run_id: str = ""
    approved: str = ""
    """The call whose approval was answered with 200."""

    def at(self, url: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=url, timeout=20, trust_env=False, cookies={"access_token": self.cookie})


async def _person(desk: Desk, number: int) -> Person:
    user_id, name = ObjectId(), f"Person-{number}-"
    row = {
        "_id": user_id, "email": f"person{number}@example.com", "name": name, "role": "user",
        "isActive": True, "aiEnabled": True, "passwordHash": "!", "failedLoginCount": 0,
        "createdAt": desk.clock.now(), "updatedAt": desk.clock.now(),
    }  # fmt: skip
    await desk.database["users"].insert_one(row)
    cookie = AccessTokens(JWT_SECRET, SystemClock()).issue(user_id, "user", "chaos")
    return Person(user_id, name, cookie)


async def _turn(person: Person, url: str) -> None:
    """As far as it gets: the process may die at any moment."""
    async with person.at(url) as client:
        person.order_id = (await make_order(client))["id"]
        session = await open_session(client)
        with contextlib.suppress(httpx.TransportError, AssertionError):
            async with say_to(client, session, "finish it") as stream:
                person.run_id = stream.run_id
                await _approve_and_listen(person, client, stream)


async def _approve_and_listen(person: Person, client: httpx.AsyncClient, stream: Listener) -> None:
    asked = (await stream.until("tool_approval_required")).data["toolCallId"]
    if (await decide(client, asked, approve=True)).status_code == 200:
        person.approved = asked
    await stream.to_the_end()


async def _carried_to_its_end(person: Person, url: str, desk: Desk) -> None:
    """At the healthy process: what waits is approved; then no run of the person works any more."""
    runs = desk.database["agentruns"]
    async with person.at(url) as client:

        async def ended() -> bool:
            for waiting in (await client.get("/api/v1/ai/approvals")).json()["data"]:
                answer = await decide(client, waiting["id"], approve=True)
                if answer.status_code == 200:
                    person.approved = waiting["id"]
            return await runs.find_one({"userId": person.id, "status": "running"}) is None

        await until(ended)
        if (row := await runs.find_one({"userId": person.id})) is not None:
            person.run_id = str(row["_id"])
            async with asyncio.timeout(20), watch(client, person.run_id) as stream:
                _assert_told_properly(await stream.to_the_end())


def _assert_told_properly(heard: list[Any]) -> None:
    """D-23: one result for each start, one last event."""
    told = [event for event in heard if event.name != "ping"]
    starts = [event.data["toolCallId"] for event in told if event.name == "tool_call_start"]
    ends = [event.data["toolCallId"] for event in told if event.name == "tool_result"]
    assert sorted(starts) == sorted(ends)
    assert len(ends) == len(set(ends))
    assert [event.name in ("message_done", "error") for event in told] == [False] * (len(told) - 1) + [True]


async def _assert_nothing_doubled_or_lost(person: Person, desk: Desk, model: ScriptedModel) -> None:
    order = await desk.database["workorders"].find_one({"_id": ObjectId(person.order_id)})
    assert order is not None
    marks = [mark["toolCallId"] for mark in order.get("history", []) if mark.get("toolCallId")]
    calls = [row async for row in desk.database["agenttoolcalls"].find({"userId": person.id})]
    executed = [str(row["_id"]) for row in calls if row["outcome"] == "executed" and row.get("approval")]
    assert marks == executed
    assert order["version"] == 1 + len(marks)
    assert all(row["outcome"] in FINAL_OUTCOMES for row in calls)
    if person.approved:
        assert executed == [person.approved]
    run = await desk.database["agentruns"].find_one({"userId": person.id})
    if run is not None:
        answered = {step["resultOf"] for step in run["transcript"] if step["role"] == "tool"}
        asked = {made["id"] for step in run["transcript"] for made in step.get("calls", [])}
        assert asked == answered
    day = await desk.ledger.today()
    made = sum(person.name in body["messages"][0]["content"] for body in model.requests)
    assert day.users.get(str(person.id), 0.0) >= made * ONE_CALL_USD - 1e-9


@pytest.mark.timeout(240)
async def test_a_turn_survives_a_kill_at_every_point(
    desk: Desk, settings: Settings, model: ScriptedModel, forks: Forks
) -> None:
    """Issue 4 "Must show": no run hangs, no write is doubled or lost, spend is never under-counted."""
    model.add(*[obliging] * 1_000)
    healthy, _ = await forks.start(0)
    died = 0

    async def at_point(number: int) -> bool:
        person = await _person(desk, number)
        url, child = await forks.start(number)
        await _turn(person, url)
        dead = not await answers(url)
        forks.kill(child)
        await _carried_to_its_end(person, healthy, desk)
        await _assert_nothing_doubled_or_lost(person, desk, model)
        return dead

    for first in range(1, MOST_POINTS, AT_ONCE):
        deaths = await asyncio.gather(*(at_point(first + offset) for offset in range(AT_ONCE)))
        died += sum(deaths)
        if not any(deaths):
            break
    assert 20 <= died < MOST_POINTS - AT_ONCE
