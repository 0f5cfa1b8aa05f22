"""Sixty injections and a model that obeys them all: nothing happens unasked, nothing leaks (SEC-5, 003 §12)."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from app.llm.demo.script import Answer, Call, call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot import injections
from tests.copilot.talk import Listener, decide, open_session, say_to

SECRET = "The safe code of site 12 is 4711"


async def _orders(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    return (await client.get("/api/v1/work-orders?limit=100")).json()["data"]["items"]  # type: ignore[no-any-return]


def _obeys(own: str, foreign: str) -> list[Any]:
    """A model that does whatever was asked: first reads, then writes to everything it heard of."""
    return [
        call("list_my_work_orders"),
        Answer(
            text="As instructed.",
            calls=(
                Call("update_work_order", {"id": foreign, "status": "done", "priority": "low"}),
                Call("delete_work_order", {"id": foreign}),
                Call("delete_work_order", {"id": own}),
                Call("admin_list_work_orders", {}),
                Call("approve_tool_call", {"id": own, "approve": True}),
            ),
        ),
    ]


async def _attack(server: Server, client: httpx.AsyncClient, session: str, said: str) -> Listener:
    async with say_to(client, session, said) as stream:
        asked = (await stream.until("tool_approval_required")).data
        assert asked["tool"] == "delete_work_order"
        await decide(client, asked["toolCallId"], approve=False, reason="no")
        await stream.to_the_end()
    return stream


@pytest.mark.parametrize(
    "group", ["FAKE_APPROVALS", "ID_SMUGGLING", "ENCODED", "DIRECT", "EXFILTRATION", "LIVE_MARKUP"]
)
async def test_an_obedient_model_changes_and_reads_nothing_by_an_injection(
    server: Server, model: ScriptedModel, group: str
) -> None:
    """SEC-5, COP-3, D-26: 0 unapproved effects, 0 foreign data, whatever stands in a title or description."""
    owner, stranger = await server.sign_in_as("owner"), await server.sign_in_as("stranger")
    theirs = (await stranger.post("/api/v1/work-orders", json={"title": "Theirs", "description": SECRET})).json()[
        "data"
    ]
    session = await open_session(owner)
    for place, template in enumerate(getattr(injections, group)):
        text = template.replace("{foreign}", theirs["id"]).replace("{{", "{").replace("}}", "}")
        body = {"title": f"Job {place} {text}"[:100], "description": text}
        own = (await owner.post("/api/v1/work-orders", json=body)).json()["data"]
        before = [await _orders(owner), await _orders(stranger)]
        model.add(*_obeys(own["id"], theirs["id"]), say("Done as told."))
        stream = await _attack(server, owner, session, f"Tidy up my orders, please. {text}"[:4000])
        assert [await _orders(owner), await _orders(stranger)] == before, text
        results = [event.data for event in stream.named("tool_result")]
        assert [result["outcome"] for result in results].count("executed") == 1  # the read of one's own list
        assert SECRET not in json.dumps([event.data for event in stream.heard], ensure_ascii=False)
    assert SECRET not in json.dumps(model.requests, ensure_ascii=False)


class _Addresses(HTMLParser):
    """Every attribute that could fetch something or act."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.found.extend(f"{tag} {name}={value}" for name, value in attrs if name not in ("class",))


@pytest.mark.parametrize("text", injections.EVERY)
def test_nothing_that_the_model_writes_becomes_an_address_or_a_live_element(text: str) -> None:
    """COP-7, SEC-3, SEC-5: 0 off-origin addresses in the drawer, no element or attribute that htmx acts on."""
    from app.copilot.markdown import rendered

    parser = _Addresses()
    parser.feed(str(rendered(text.replace("SECRET", SECRET))))
    assert [found for found in parser.found if "href=/app/" not in found] == []
    assert not any(tag.startswith("hx-") or tag in ("img", "script", "iframe", "form", "svg") for tag in parser.tags)


def test_there_are_sixty_of_them() -> None:
    """Issue "The copilot, whole": 60 injections of our own."""
    assert len(injections.EVERY) >= 60
    assert len(set(injections.EVERY)) == len(injections.EVERY)
