"""A change that the gate keeps for a dispatcher: the tier raised through the page, then asked for by the owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
from bson import ObjectId

from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import READ, csrf_of, turn
from tests.copilot.talk import make_order

HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}
TOOLS, REVIEW = "/app/admin/tools", "/app/admin/review"
TOOL = "update_work_order"


@dataclass
class Kept:
    """The request in the queue, its order, and the two people."""

    owner: httpx.AsyncClient
    dispatcher: httpx.AsyncClient
    order: dict[str, Any]
    review: dict[str, Any]
    run_id: str

    @property
    def path(self) -> str:
        return f"{REVIEW}/{self.review['_id']}"


async def send_form(client: httpx.AsyncClient, path: str, *, fragment: bool = False, **fields: str) -> httpx.Response:
    """A form of the client's, as the browser sends it."""
    data = fields | {"_csrf_token": await csrf_of(client)}
    return await client.post(path, data=data, headers=HTMX if fragment else {})


async def kept(server: Server, model: ScriptedModel, **change: Any) -> Kept:
    """One change that waits in the queue."""
    dispatcher = await server.sign_in_as("dispatcher")
    raised = await send_form(dispatcher, f"{TOOLS}/raise", name=TOOL, tier="review")
    assert raised.status_code in (303, 409), raised.text
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, priority="low")
    asked = {"id": order["id"]} | (change or {"priority": "high"})
    heard = await turn(owner, model, call(READ), call(TOOL, asked), say("A dispatcher looks at it."))
    review = await server.desk.database["toolreviews"].find_one({"runId": ObjectId(heard.run_id)})
    assert review is not None
    return Kept(owner, dispatcher, order, review, heard.run_id)
