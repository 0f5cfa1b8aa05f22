"""One run engine behind every door: JSON, console and drawer leave the same record and the same effect (T-14)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import httpx
from bson import ObjectId

from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.console_talk import chat, confirm
from tests.copilot.crowd import crowd
from tests.copilot.stage import READ, csrf_of
from tests.copilot.talk import decide, make_order, open_session, say_to

WORDS = "raise the pump order to high"
HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}
OWN_TO_EACH = {"nonce", "tokenHash", "requestId", "latencyMs", "email", "passwordHash"}
"""Random, measured, or of the person."""
_ID, _TIME = re.compile(r"[0-9a-f]{24}"), re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_HASH, _EMAIL = re.compile(r"[0-9a-f]{64}"), re.compile(r"person\d+@")


async def by_json(client: httpx.AsyncClient) -> str:
    async with say_to(client, await open_session(client), WORDS) as stream:
        asked = (await stream.until("tool_approval_required")).data
        answer = await decide(client, asked["toolCallId"], approve=True, confirmationToken=asked["confirmationToken"])
        assert answer.status_code == 200
        await stream.to_the_end()
    return stream.run_id


async def by_console(client: httpx.AsyncClient) -> str:
    async with chat(client, WORDS) as stream:
        asked = (await stream.until("confirmation_required")).data
        assert (await confirm(client, asked["confirmation_token"])).status_code == 200
        await stream.to_the_end()
    return stream.run_id


async def by_drawer(client: httpx.AsyncClient) -> str:
    csrf = await csrf_of(client)
    sent = await client.post("/app/copilot/messages", data={"message": WORDS, "_csrf_token": csrf}, headers=HTMX)
    run_id = _found(r"/app/copilot/runs/([0-9a-f]{24})/events", sent.text)
    html, decided = "", False
    async with client.stream("GET", f"/app/copilot/runs/{run_id}/events") as answer:
        async for text in answer.aiter_text():
            html += text
            if not decided and 'name="decision"' in html:
                address = _found(r"(/app/approvals/[0-9a-f]{24}/decide)", html)
                form = {"decision": "approve", "_csrf_token": csrf}
                decided = (await client.post(address, data=form, headers=HTMX)).status_code == 200
    assert decided
    assert "event: run-end" in html
    return run_id


DOORS: list[Callable[[httpx.AsyncClient], Awaitable[str]]] = [by_json, by_console, by_drawer]


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text[-500:]
    return found[1]


class Normaliser:
    """Ids by the order of their appearance; times, hashes and what is one's own left out."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._text(key): self.of(inner) for key, inner in value.items() if key not in OWN_TO_EACH}
        if isinstance(value, list):
            return [self.of(inner) for inner in value]
        if isinstance(value, datetime):
            return "time"
        return self._text(str(value)) if isinstance(value, str | ObjectId) else value

    def _text(self, text: str) -> str:
        plain = _EMAIL.sub("person@", _TIME.sub("time", _HASH.sub("hash", text)))
        return _ID.sub(lambda found: self._ids.setdefault(found[0], f"id{len(self._ids)}"), plain)


async def _left_by(server: Server, run_id: str, person: str, order: str) -> dict[str, Any]:
    """Everything in the database that came of the run."""
    database, run = server.desk.database, ObjectId(run_id)
    return {
        "run": await database["agentruns"].find_one({"_id": run}),
        "messages": [row async for row in database["agentmessages"].find({"runId": run}).sort("seq")],
        "calls": [row async for row in database["agenttoolcalls"].find({"runId": run}).sort("createdAt")],
        "order": await database["workorders"].find_one({"_id": ObjectId(order)}),
        "orders": await database["workorders"].count_documents({"owner": ObjectId(person)}),
        "session": await database["copilotsessions"].find_one({"userId": ObjectId(person)}),
    }


async def test_the_same_conversation_leaves_the_same_through_every_door(server: Server, model: ScriptedModel) -> None:
    """T-14, D-5: list, propose, approve, answer; then run, messages, calls, order, and what the model was told."""
    left: list[Any] = []
    for client, door in zip(await crowd(server, len(DOORS)), DOORS, strict=True):
        order, before = await make_order(client, priority="low"), len(model.requests)
        model.add(
            call(READ, text="Let me look. "),
            call("update_work_order", {"id": order["id"], "priority": "high"}),
            say("The pump order is high now."),
        )
        run_id = await door(client)
        rows = await _left_by(server, run_id, order["owner"]["id"], order["id"])
        assert (rows["run"]["status"], rows["order"]["priority"], rows["orders"]) == ("complete", "high", 1)
        assert [made["outcome"] for made in rows["calls"]] == ["executed", "executed"]
        assert rows["calls"][1]["argsHash"] == rows["calls"][1]["executedHash"]
        left.append(Normaliser().of({"rows": rows, "told": model.requests[before:]}))
    by_json_left, *others = left
    for other in others:
        assert other == by_json_left
