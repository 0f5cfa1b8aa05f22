"""The person who asked hears what a dispatcher made of it (T-8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from app.tools.policy import Tier
from tests.conftest import CAST, Server
from tests.copilot.stage import READ, turn
from tests.copilot.talk import make_order
from tests.mail.inbox import Inbox, running_inbox


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    async with running_inbox() as box:
        yield box


@pytest.fixture
def overrides(inbox: Inbox) -> dict[str, Any]:
    return {"smtp_url": f"smtp://127.0.0.1:{inbox.port}"}


@pytest.mark.parametrize("runs", [True, False])
async def test_the_requester_is_told_by_mail_and_in_the_list_of_approvals(
    server: Server, model: ScriptedModel, inbox: Inbox, runs: bool
) -> None:
    """T-8: run or refused, with the dispatcher's reason; the change itself is made once, as the person who asked"""
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, title="Pump 3 leaks", priority="low")
    dispatcher = (await server.person("dispatcher")).actor
    await server.desk.tools.listing.raise_to(dispatcher, "update_work_order", Tier.REVIEW)
    change = call("update_work_order", {"id": order["id"], "priority": "high"})
    await turn(owner, model, call(READ), change, say("A dispatcher decides."))
    (row,) = await server.desk.tools.reviews.waiting(dispatcher)
    if runs:
        await server.desk.copilot.reviewing.run(dispatcher, row.id, row.args_hash)
    else:
        await server.desk.copilot.reviewing.refuse(dispatcher, row.id, "The pump is replaced on Monday.")
    envelope, message = await asyncio.wait_for(inbox.mails.get(), 10)
    text = message.get_content()
    assert envelope.rcpt_tos == [CAST["owner"][0]]
    assert ("It was run." in text) is runs
    assert ("The pump is replaced on Monday." in text) is not runs
    now = (await owner.get(f"/api/v1/work-orders/{order['id']}")).json()["data"]
    assert (now["priority"], now["version"]) == (("high", 2) if runs else ("low", 1))
    assert "dispatcher" in (await owner.get("/app/approvals")).text
