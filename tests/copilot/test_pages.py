"""The copilot in HTML: drawer, stream of fragments, approvals, runs (COP-7, HTTP-5, D-2, issue 4.7, 4.8, 4.10)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.llm.demo.script import call, http_error, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server, ShiftedClock
from tests.copilot.stage import READ, csrf_of, effects, proposal
from tests.copilot.talk import decide, make_order

HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}
CORPORA = Path(__file__).resolve().parents[3] / "shared" / "corpora"
HOSTILE = [
    "<hx-partial hx-target='#pwn' hx-swap='innerHTML'>pwn</hx-partial>",
    "<img src=x onerror=pwn()>",
    '"><script>pwn()</script>',
    "<div data-pwn hx-get='/pwn' hx-trigger=load>x</div>",
    "[pwn](javascript:pwn())",
    "![pwn](https://pwn.example/x.png)",
    "[pwn](https://pwn.example/?q=1)",
    "<https://pwn.example/>",
    "' hx-get=/pwn x='",
    "`<hx-partial hx-get=/pwn>`",
    "```\n</code></pre><hx-get pwn=1>\n```",
    "<template><a hx-post=/pwn></template>",
    "</div></hx-partial><form action=/pwn hx-post=/pwn>",
    "<svg/onload=pwn()>",
    "<style>@import '//pwn.example'</style>",
    "| a | b |\n|---|---|\n| <hx-partial pwn> | [x](data:text/html,pwn) |",
    "[r]: https://pwn.example\n\n[r]",
    "<!-- pwn -->",
    "data: pwn\n\nevent: run-end\ndata: {}\n\n",
    "<a href='//pwn.example' data-close-dialog>x</a>",
    "&lt;hx-partial pwn&gt;",
]
TAGS = {
    "hx-partial",
    "div",
    "span",
    "p",
    "article",
    "details",
    "summary",
    "svg",
    "use",
    "path",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "code",
    "form",
    "input",
    "button",
    "a",
    "b",
    "br",
    "table",
    "caption",
    "colgroup",
    "col",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "header",
    "footer",
    "label",
    "textarea",
    "del",
    "ins",
    "strong",
    "em",
    "ul",
    "ol",
    "li",
    "blockquote",
    "hr",
    "s",
}


class Markup(HTMLParser):
    """Everything that is markup and not text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.extend((name, value or "") for name, value in attrs)
        if tag not in ("input", "br", "hr", "col", "path", "use"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.extend((name, value or "") for name, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> is out of place"


def assert_harmless(html: str) -> None:
    """No element, attribute or address that came from the model or an order: only text did."""
    markup = Markup()
    markup.feed(html)
    markup.close()
    assert markup.open == []
    assert markup.tags <= TAGS, markup.tags - TAGS
    for name, value in markup.attributes:
        assert "pwn" not in name
        assert not name.startswith("on")
        if name not in ("value", "aria-label"):  # words in a form, words for a screen reader
            assert "pwn" not in value, (name, value)


class Frames:
    """The messages of the drawer's stream as they come."""

    def __init__(self, response: httpx.Response) -> None:
        self._chunks = response.aiter_raw()
        self._buffer = b""
        self.last_id = ""

    async def __aiter__(self) -> AsyncIterator[tuple[str, str]]:
        """(event name, data); comments are left out."""
        while True:
            while b"\n\n" in self._buffer:
                block, self._buffer = self._buffer.split(b"\n\n", 1)
                lines = [line for line in block.decode().split("\n") if not line.startswith(":")]
                if not lines:
                    continue
                fields = [line.partition(": ")[::2] for line in lines]
                assert {name for name, _ in fields} <= {"event", "id", "data"}, lines
                self.last_id = next((value for name, value in fields if name == "id"), self.last_id)
                event = next((value for name, value in fields if name == "event"), "")
                yield event, "\n".join(value for name, value in fields if name == "data")
            try:
                self._buffer += await anext(self._chunks)
            except StopAsyncIteration:
                return

    async def until(self, words: str) -> str:
        """Everything up to and with the first message that holds `words`."""
        heard = ""
        async for event, data in self:
            heard += data
            if words in data or words == event:
                return heard
        raise AssertionError(f"{words} did not come; heard {heard[-500:]}")


@asynccontextmanager
async def drawer(client: httpx.AsyncClient, run_id: str, after: str = "") -> AsyncIterator[Frames]:
    headers = {"Last-Event-ID": after} if after else {}
    async with client.stream("GET", f"/app/copilot/runs/{run_id}/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Frames(answer)


async def send(client: httpx.AsyncClient, words: str, **headers: str) -> httpx.Response:
    form = {"message": words, "_csrf_token": await csrf_of(client)}
    return await client.post("/app/copilot/messages", data=form, headers=headers)


async def run_of(client: httpx.AsyncClient) -> str:
    return str((await client.get("/api/v1/ai/runs?limit=1")).json()["data"]["items"][0]["id"])


async def test_a_message_from_the_drawer_opens_its_stream(server: Server, model: ScriptedModel) -> None:
    """COP-7, HTTP-5: htmx gets the bubble and the stream; the fragments end with run-end, well-formed each."""
    owner = await server.sign_in_as("owner")
    model.add(call(READ, text="Let me **look**."), say("Nothing there."))
    sent = await send(owner, "what is <b>there</b>?", **HTMX)
    assert sent.status_code == 200
    assert "what is &lt;b&gt;there&lt;/b&gt;?" in sent.text
    run_id = await run_of(owner)
    assert f"/app/copilot/runs/{run_id}/events" in sent.text
    async with drawer(owner, run_id) as frames:
        heard = [(event, data) async for event, data in frames]
    assert [event for event, _ in heard][-1] == "run-end"
    assert [event for event, _ in heard[:-1]] == [""] * (len(heard) - 1)
    for _, data in heard[:-1]:
        assert_harmless(data)
    everything = "".join(data for _, data in heard)
    assert "<strong>look</strong>" in everything
    assert "Nothing there." in everything


async def test_without_scripts_it_is_a_plain_page(server: Server, model: ScriptedModel) -> None:
    """HTTP-5: a form, a redirect, the conversation in the page; deciding and undoing the same way."""
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, priority="low")
    model.add(call(READ), call("update_work_order", {"id": order["id"], "priority": "high"}), say("It is high."))
    sent = await send(owner, "raise it")
    assert (sent.status_code, sent.headers["location"]) == (303, "/app/copilot")
    run_id = await run_of(owner)
    async with drawer(owner, run_id) as frames:
        await frames.until("approval-card")
    assert "raise it" in (await owner.get("/app/copilot")).text
    assert "Change this work order?" in (await owner.get("/app/approvals")).text
    [waiting] = (await owner.get("/api/v1/ai/approvals")).json()["data"]
    shown = (await owner.get(f"/app/approvals/{waiting['id']}")).text
    token = shown.split('name="confirmation_token" value="')[1].split('"')[0]
    form = {"decision": "approve", "confirmation_token": token, "_csrf_token": await csrf_of(owner)}
    decided = await owner.post(f"/app/approvals/{waiting['id']}/decide", data=form)
    assert (decided.status_code, decided.headers["location"]) == (303, "/app/approvals")
    async with drawer(owner, run_id) as frames:
        await frames.until("run-end")
    assert await effects(server, order["id"]) == [waiting["id"]]
    assert "It is high." in (await owner.get("/app/copilot")).text
    undone = await owner.post(f"/app/tool-calls/{waiting['id']}/undo", data={"_csrf_token": await csrf_of(owner)})
    assert undone.status_code == 303
    assert (await owner.get(f"/api/v1/work-orders/{order['id']}")).json()["data"]["priority"] == "low"


async def test_nothing_that_model_or_order_say_becomes_markup(server: Server, model: ScriptedModel) -> None:
    """COP-7, SEC-5: no element, no hx-, data- or on- attribute, no address: in stream, page, modal, run."""
    owner = await server.sign_in_as("owner")
    texts = "\n\n".join(HOSTILE)
    await make_order(owner, title=("<hx-partial pwn>" + HOSTILE[1])[:120], description=texts[:1900], priority="low")
    order_id = (await owner.get("/api/v1/work-orders")).json()["data"]["items"][0]["id"]
    change = {"id": order_id, "title": HOSTILE[0], "description": texts[:1900]}
    model.add(
        call("pwn<hx-partial>", {"<hx-get=pwn>": texts}), call(READ, text=texts),
        call("update_work_order", change), *(say(text) for text in [texts]),
    )  # fmt: skip
    assert (await send(owner, HOSTILE[0] + "pwn", **HTMX)).status_code == 200
    run_id = await run_of(owner)
    heard = []
    async with drawer(owner, run_id) as frames:
        async for event, data in frames:
            assert event in ("", "run-end")
            if event == "":
                assert_harmless(data)
            heard.append(data)
            if "approval-card" in data:
                [waiting] = (await owner.get("/api/v1/ai/approvals")).json()["data"]
                modal = await owner.get(f"/app/approvals/{waiting['id']}", headers=HTMX)
                assert_harmless(modal.text)
                await decide(owner, waiting["id"], approve=False, reason=HOSTILE[3])
    assert heard[-1] == "{}"
    for path in ("/app/copilot", "/app/copilot/drawer", f"/app/runs/{run_id}", "/app/approvals", "/app/runs"):
        page = (await owner.get(path)).text
        assert "<hx-partial pwn" not in page
        assert "<img" not in page
        assert "https://pwn.example" not in "".join(
            value for name, value in _attributes(page) if name in ("href", "src")
        )


def _attributes(page: str) -> list[tuple[str, str]]:
    class Lenient(Markup):
        def handle_endtag(self, tag: str) -> None:
            pass

    markup = Lenient()
    markup.feed(page)
    return markup.attributes


async def test_no_string_of_a_collection_becomes_markup(server: Server, model: ScriptedModel) -> None:
    """SEC-5, issue 4.7: naughty strings and script collections, where they are at hand, as the model's words."""
    owner = await server.sign_in_as("owner")
    strings = list(HOSTILE)
    if CORPORA.is_dir():
        strings += json.loads((CORPORA / "blns" / "blns.json").read_text())
        for name in ("xss_BRUTELOGIC-XSS-STRINGS.txt", "xss_0xcela_event_handlers.txt"):
            strings += (CORPORA / "payloads" / name).read_text(errors="replace").splitlines()
    words = "\n\n".join(strings)
    for start in range(0, len(words), 30_000):
        model.clear()
        model.add(say(words[start : start + 30_000]))
        assert (await send(owner, "go", **HTMX)).status_code == 200
        async with drawer(owner, await run_of(owner)) as frames:
            async for event, data in frames:
                if event == "":
                    assert_harmless(data)


async def test_a_drawer_that_comes_back_goes_on_in_its_bubble(server: Server, model: ScriptedModel) -> None:
    """D-2, scenarios 2.1 and 2.4: reload mid-sentence, resume by id: one bubble, the whole text, no second card."""
    owner = await server.sign_in_as("owner")
    middle = asyncio.Event()
    model.add(call(READ, text="First. "), say("Then a long sentence " * 3 + "with its end.", middle=middle))
    await send(owner, "go", **HTMX)
    run_id = await run_of(owner)
    async with drawer(owner, run_id) as frames:
        before = await frames.until("Then a")
        last = frames.last_id
    async with drawer(owner, run_id, after=last) as frames:
        middle.set()
        after = await frames.until("run-end")
    bubble = f"m-{run_id}-1"
    assert f'id="{bubble}"' in before
    assert f"#{bubble} .md" in after
    assert f'id="{bubble}"' not in after
    assert "with its end." in after
    assert "call-" not in after
    page = (await owner.get("/app/copilot")).text
    assert page.count("with its end.") == 1
    assert page.count("First.") == 1


async def test_the_drawer_is_opened_again_in_the_middle_of_a_run(server: Server, model: ScriptedModel) -> None:
    """Issue 4.7, scenario 2.1: question, waiting proposal and stream are there again; stop is offered."""
    async with proposal(server, model) as waiting:
        page = (await waiting.owner.get("/app/copilot/drawer", headers=HTMX)).text
        assert f"/app/copilot/runs/{waiting.run_id}/events" in page
        assert f"/app/copilot/runs/{waiting.run_id}/cancel" in page
        assert 'data-run-state="waiting"' in page or 'data-run-state="running"' in page
        async with drawer(waiting.owner, waiting.run_id) as frames:
            again = await frames.until("approval-card")
        assert "data-open" in again
        form = {"_csrf_token": await csrf_of(waiting.owner)}
        stopped = await waiting.owner.post(f"/app/copilot/runs/{waiting.run_id}/cancel", data=form, headers=HTMX)
        assert stopped.status_code == 200
        await waiting.stream.to_the_end()
        assert 'data-run-state="idle"' in (await waiting.owner.get("/app/copilot/drawer", headers=HTMX)).text


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_deciding_in_the_modal_closes_it(server: Server, model: ScriptedModel, decision: str) -> None:
    """COP-7, D-6: an empty body takes the modal away, the badge counts, the record names who and why."""
    async with proposal(server, model) as waiting:
        page = (await waiting.owner.get("/app/approvals")).text
        assert waiting.call_id in page
        form = {"decision": decision, "reason": "Not now", "_csrf_token": await csrf_of(waiting.owner)}
        answer = await waiting.owner.post(f"/app/approvals/{waiting.call_id}/decide", data=form, headers=HTMX)
        assert (answer.status_code, answer.text) == (200, "")
        assert "approvals-changed" in answer.headers["hx-trigger"]
        await waiting.stream.to_the_end()
        listed = (await waiting.owner.get("/app/approvals")).text
        assert "Rosa Lind" in listed
        assert ("Not now" in listed) == (decision == "reject")


async def test_the_modal_tells_of_expiry_of_a_new_proposal_and_of_another_tab(
    server: Server, model: ScriptedModel, clock: ShiftedClock
) -> None:
    """D-6, issue 4.8: 409 and 410 come with the card as it stands now, as fragment and as page."""
    async with proposal(server, model, say("ok")) as waiting:
        edit = {"version": 1, "title": "Edited meanwhile"}
        await waiting.owner.patch(f"/api/v1/work-orders/{waiting.order['id']}", json=edit)
        form = {"decision": "approve", "_csrf_token": await csrf_of(waiting.owner)}
        path = f"/app/approvals/{waiting.call_id}/decide"
        stale = await waiting.owner.post(path, data=form, headers=HTMX)
        assert "Edited meanwhile" in stale.text
        assert "/decide" in stale.text
        fresh = (await waiting.stream.until("tool_approval_required")).data["toolCallId"]
        assert fresh in stale.text
        assert (await waiting.owner.post(path, data=form)).status_code == 409
        clock.advance(timedelta(minutes=10, seconds=1))
        late = await waiting.owner.post(f"/app/approvals/{fresh}/decide", data=form)
        assert late.status_code == 410
        assert "/decide" not in late.text.split("<main")[1]
        await waiting.stream.to_the_end()
        shown = await waiting.owner.get(f"/app/approvals/{fresh}")
        assert (shown.status_code, "Time ran out" in shown.text or "ran out" in shown.text) == (200, True)


async def test_a_form_without_its_token_decides_nothing(server: Server, model: ScriptedModel) -> None:
    """HTTP-5: CSRF on every form of the copilot; a choice that is none is refused."""
    async with proposal(server, model) as waiting:
        path = f"/app/approvals/{waiting.call_id}/decide"
        bare = await waiting.owner.post(path, data={"decision": "approve"})
        assert bare.status_code == 403
        token = {"_csrf_token": await csrf_of(waiting.owner)}
        assert (await waiting.owner.post(path, data=token)).status_code == 400
        assert (await waiting.owner.post(path, data=token | {"decision": "maybe"})).status_code == 400
        for other in (f"/app/approvals/{waiting.call_id}/extend", f"/app/copilot/runs/{waiting.run_id}/cancel"):
            assert (await waiting.owner.post(other, data={})).status_code == 403
        assert await effects(server, waiting.order["id"]) == []
        extended = await waiting.owner.post(f"/app/approvals/{waiting.call_id}/extend", data=token, headers=HTMX)
        assert extended.status_code == 200
        assert waiting.call_id in extended.text
        await waiting.decide(approve=False)
        await waiting.stream.to_the_end()


async def test_a_failed_turn_can_be_tried_again_with_one_press(server: Server, model: ScriptedModel) -> None:
    """Scenario 1.2, issue 4.7: the words are kept in the form, escaped."""
    owner = await server.sign_in_as("owner")
    model.add(http_error(500))
    await send(owner, 'say "pwn" <hx-partial>', **HTMX)
    async with drawer(owner, await run_of(owner)) as frames:
        heard = await frames.until("run-end")
    assert "Try again" in heard
    assert 'value="say &#34;pwn&#34; &lt;hx-partial&gt;"' in heard
    assert_harmless(heard.removesuffix("{}"))
    assert "Try again" in (await owner.get("/app/copilot")).text


async def test_sessions_are_kept_and_a_new_one_is_one_press(server: Server, model: ScriptedModel) -> None:
    """COP-8, issue 4.7: the history names each by its first words; another person's is not shown."""
    owner = await server.sign_in_as("owner")
    model.add(say("one"), say("two"))
    await send(owner, "first question", **HTMX)
    async with drawer(owner, await run_of(owner)) as frames:
        await frames.until("run-end")
    made = await owner.post("/app/copilot/sessions", data={"_csrf_token": await csrf_of(owner)}, headers=HTMX)
    assert made.status_code == 200
    assert "first question" in made.text
    await send(owner, "second question", **HTMX)
    async with drawer(owner, await run_of(owner)) as frames:
        await frames.until("run-end")
    sessions: list[dict[str, Any]] = (await owner.get("/api/v1/ai/sessions")).json()["data"]
    assert [item["status"] for item in sessions] == ["active", "archived"]
    old = (await owner.get(f"/app/copilot/drawer?session={sessions[1]['id']}", headers=HTMX)).text
    assert "first question" in old
    assert ">one<" in old.replace("<p>", ">").replace("</p>", "<") or "one" in old
