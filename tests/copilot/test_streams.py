"""Streams: the closed set of events, their order, resuming, watchers, loss of Redis (003 §4.8, D-2, D-23)."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import httpx
import pytest
from bson import ObjectId

from app.core.redis import RedisClient
from app.llm.demo.script import Raw, call, http_error, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.copilot.stage import READ, proposal, turn
from tests.copilot.talk import Heard, decide, make_order, open_session, say_to, watch

SHAPES = {
    "token": {"event", "content"},
    "tool_call_start": {"event", "toolCallId", "tool", "args"},
    "tool_approval_required": {
        "event", "toolCallId", "tool", "args", "stagedVersion", "preImage", "afterDiff", "summary", "expiresAt", "risk",
        "tier", "argsHash", "confirmationToken",
    },
    "tool_approval_expired": {"event", "toolCallId"},
    "tool_result": {"event", "toolCallId", "outcome", "result"},
    "message_done": {"event", "runId", "content", "inputTokens", "outputTokens"},
    "error": {"event", "code", "message", "requestId"},
    "ping": {"event", "ts"},
}  # fmt: skip


def assert_well_formed(heard: list[Heard]) -> None:
    """D-23: only known events in their shapes, one result after each start, one last event."""
    for event in heard:
        assert set(event.data) == SHAPES[event.name], event
        assert event.data["event"] == event.name
        assert bool(event.id) == (event.name != "ping")
    told = [event for event in heard if event.name != "ping"]
    assert [event.name in ("message_done", "error") for event in told] == [False] * (len(told) - 1) + [True]
    open_calls: set[str] = set()
    for event in told:
        if event.name == "tool_call_start":
            assert event.data["toolCallId"] not in open_calls
            open_calls.add(event.data["toolCallId"])
        elif event.name in ("tool_approval_required", "tool_approval_expired"):
            assert event.data["toolCallId"] in open_calls
        elif event.name == "tool_result":
            open_calls.remove(event.data["toolCallId"])
    assert not open_calls


def story(heard: list[Heard]) -> list[tuple[str, Any]]:
    """What was told, text joined: how it was cut into tokens does not matter."""
    joined: list[tuple[str, Any]] = []
    for event in heard:
        if event.name == "token" and joined and joined[-1][0] == "token":
            joined[-1] = ("token", joined[-1][1] + event.data["content"])
        elif event.name == "token":
            joined.append(("token", event.data["content"]))
        elif event.name != "ping":
            joined.append((event.name, event.data))
    return joined


async def test_every_event_has_its_shape_and_place(server: Server, model: ScriptedModel) -> None:
    """D-23, 003 §4.8: text, read, proposal, effect, end; ids rise; headers are those of a stream."""
    async with proposal(server, model, say("It is done."), tool="delete_work_order") as waiting:
        await waiting.decide(approve=True)
        heard = await waiting.stream.to_the_end()
        headers = waiting.stream.response.headers
    assert_well_formed(heard)
    assert [event.name for event in heard] == [
        "tool_call_start", "tool_result", "tool_call_start", "tool_approval_required", "tool_result",
        *["token"] * (len(heard) - 6), "message_done",
    ]  # fmt: skip
    ids = [tuple(map(int, event.id.split("-"))) for event in heard]
    assert ids == sorted(set(ids))
    assert (waiting.asked["risk"], waiting.asked["tier"]) == ("destructive", "confirm")
    assert waiting.asked["afterDiff"] == {"deleted": True}
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["x-run-id"] == waiting.run_id
    assert "no-cache" in headers["cache-control"]
    assert headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in headers


async def test_a_stream_that_drops_after_every_event_loses_and_repeats_nothing(
    server: Server, model: ScriptedModel
) -> None:
    """D-2, scenarios 2.1, 2.4, 2.7: cut after each event in turn, resumed by Last-Event-ID, live."""
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, priority="low")
    model.add(
        call(READ, text="Let me look. "),
        call("update_work_order", {"id": order["id"], "priority": "high"}, text="I see it. "),
        say("All done, and that in several words that come in pieces."),
    )
    heard: list[Heard] = []
    async with say_to(owner, await open_session(owner), "raise it") as stream:
        run_id = stream.run_id
        heard.append(await stream.until(*SHAPES))
    while heard[-1].name not in ("message_done", "error"):
        async with watch(owner, run_id, after=heard[-1].id) as stream:
            heard.append(await stream.until(*SHAPES))
        if heard[-1].name == "tool_approval_required":
            assert (await decide(owner, heard[-1].data["toolCallId"], approve=True)).status_code == 200
    async with watch(owner, run_id) as whole:
        everything = await whole.to_the_end()
    assert_well_formed(heard)
    assert [(event.id, event.data) for event in heard] == [(event.id, event.data) for event in everything]
    for place, event in enumerate(everything):  # and once it is over, after any event
        async with watch(owner, run_id, after=event.id) as rest:
            assert [later.id for later in await rest.to_the_end()] == [later.id for later in everything[place + 1 :]]


@pytest.mark.parametrize(
    "after", ["nonsense", "99999999999999-0", "1-1", "-", "0-0", "99999999999999999999999-1", "1-1\u00e9"]
)
async def test_a_cursor_that_means_nothing_starts_from_the_beginning(
    server: Server, model: ScriptedModel, after: str
) -> None:
    """D-2: malformed, foreign and future ids neither fail nor block for ever."""
    owner = await server.sign_in_as("owner")
    spoken = await turn(owner, model, say("Hello there."))
    headers = {"Last-Event-ID": after.encode()}
    async with (
        asyncio.timeout(10),
        owner.stream("GET", f"/api/v1/ai/runs/{spoken.run_id}/events", headers=headers) as answer,  # type: ignore[arg-type]
    ):
        assert answer.status_code == 200
        text = (await answer.aread()).decode()
    assert text.count("event: message_done") == 1
    assert "Hello" in text


async def test_several_watchers_see_the_same(server: Server, model: ScriptedModel) -> None:
    """D-2: twenty at once, joining at different moments; one Redis reader serves them all."""
    owner = await server.sign_in_as("owner")
    model.add(call(READ), say("word " * 200))
    async with say_to(owner, await open_session(owner), "go") as stream:

        async def one(number: int) -> list[Heard]:
            await asyncio.sleep(number * 0.003)  # spread over the run: the moment of joining is what varies
            async with watch(owner, stream.run_id) as listener:
                return await listener.to_the_end()

        first, *others = await asyncio.gather(stream.to_the_end(), *(one(number) for number in range(20)))
    assert_well_formed(first)
    for other in others:
        assert [(event.id, event.data) for event in other] == [(event.id, event.data) for event in first]


async def test_a_watcher_that_never_reads_does_not_slow_the_run(server: Server, model: ScriptedModel) -> None:
    """D-2, issue 4.4: its socket fills, its own cursor stays behind, the run ends; nothing piles up in the desk."""
    owner = await server.sign_in_as("owner")
    gate = asyncio.Event()
    model.add(say("x" * 1_000_000 + "end", before=gate))
    async with say_to(owner, await open_session(owner), "go") as stream:
        sleeper = await _connected_but_deaf(server, owner, stream.run_id)
        gate.set()
        heard = await stream.to_the_end()
        assert heard[-1].name == "message_done"
        channels = server.desk.copilot.hub._channels
        assert all(len(channel.ring) <= 256 for channel in channels.values())
        sleeper.close()
    assert len(stream.text) == 1_000_003


async def _connected_but_deaf(server: Server, owner: httpx.AsyncClient, run_id: str) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    cookie = "; ".join(f"{name}={value}" for name, value in owner.cookies.items())
    sleeper = socket.socket()
    sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await asyncio.to_thread(sleeper.connect, (host, int(port)))
    request = f"GET /api/v1/ai/runs/{run_id}/events HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"
    await asyncio.to_thread(sleeper.sendall, request.encode())
    return sleeper


@pytest.mark.parametrize("overrides", [{"ai_sse_keepalive_ms": 40}])
async def test_an_idle_stream_is_kept_awake(server: Server, model: ScriptedModel) -> None:
    """003 §4.8, D-2, scenario 2.7: pings without an id while the model thinks and while a decision is waited for."""
    gate = asyncio.Event()
    async with proposal(server, model, say("Done.", before=gate)) as waiting:
        for _ in range(3):
            ping = await waiting.stream.until("ping")
            assert (ping.id, set(ping.data)) == ("", {"event", "ts"})
        await waiting.decide(approve=True)
        await waiting.stream.until("tool_result")
        await waiting.stream.until("ping")
        gate.set()
        heard = await waiting.stream.to_the_end()
    assert_well_formed(heard)
    assert waiting.stream.text == "Done."


# -- losing Redis ------------------------------------------------------------------------------------------------


async def lose_streams(redis: RedisClient, prefix: str) -> None:
    """What a flushed or replaced Redis is to the copilot: no key of any run is left."""
    keys = [key async for key in redis.scan_iter(f"{prefix}:run:*", count=1000)]
    if keys:
        await redis.delete(*keys)


def prefix_of(server: Server) -> str:
    return f"desk:{server.settings.mongodb_db}"


async def test_a_finished_run_is_told_from_the_record_once_its_stream_is_gone(
    server: Server, model: ScriptedModel
) -> None:
    """D-2: the same story step by step, proposal and decision included; events from the record have no id."""
    async with proposal(server, model, say("All is done."), args={"priority": "high"}) as waiting:
        await waiting.decide(approve=True)
        live = await waiting.stream.to_the_end()
    await lose_streams(server.desk.redis, prefix_of(server))
    for cursor in (None, live[2].id):
        async with watch(waiting.owner, waiting.run_id, after=cursor) as again:
            told = await again.to_the_end()
        assert {event.id for event in told} == {""}
        without_question = [part for part in story(live) if part[0] != "tool_approval_required"]
        assert story(told) == without_question


async def test_a_stream_lost_while_a_decision_is_waited_for_goes_on(server: Server, model: ScriptedModel) -> None:
    """D-2, scenario 2.1: the live watcher and one who joins afterwards hear everything, once."""
    async with proposal(server, model, say("All is done, in words.")) as waiting:
        await lose_streams(server.desk.redis, prefix_of(server))
        async with watch(waiting.owner, waiting.run_id) as late:
            await late.until("tool_approval_required")
            assert late.heard[-1].data == waiting.asked
            await waiting.decide(approve=True)
            live, joined = await asyncio.gather(waiting.stream.to_the_end(), late.to_the_end())
        assert story(live) == story(joined)
        async with watch(waiting.owner, waiting.run_id) as later:
            again = await later.to_the_end()
        assert [part for part in story(live) if part[0] != "tool_approval_required"] == story(again)
    for heard in (live, joined, again):
        told = [event for event in heard if event.name != "ping"]
        assert [event.name for event in told if event.name in ("message_done", "error")] == ["message_done"]
        ids = [event.data["toolCallId"] for event in told if event.name == "tool_result"]
        assert len(ids) == len(set(ids)) == 2


async def test_a_stream_lost_in_the_middle_of_a_sentence_is_told_whole_and_once(
    server: Server, model: ScriptedModel
) -> None:
    """D-2: tokens told before and after the loss; one who joins between hears the sentence when it is on record."""
    owner = await server.sign_in_as("owner")
    middle = asyncio.Event()
    words = "The first half of it, " + "and then the second half. " * 20
    model.add(call(READ), say(words, middle=middle), say("x"))
    async with say_to(owner, await open_session(owner), "go") as stream:
        await stream.until("token")
        await lose_streams(server.desk.redis, prefix_of(server))
        async with watch(owner, stream.run_id) as late:
            middle.set()
            live, joined = await asyncio.gather(stream.to_the_end(), late.to_the_end())
    assert stream.text == late.text == words
    assert story(live) == story(joined)
    assert live[-1].name == "message_done"


async def test_a_lost_connection_to_redis_loses_nothing(
    server: Server, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-2: appends fail for a while; the record fills the hole, in order, before what follows."""
    owner = await server.sign_in_as("owner")
    order = await make_order(owner, priority="low")
    redis = server.desk.redis
    evalsha: Any = redis.evalsha
    failing = False

    async def flaky(*args: Any, **kwargs: Any) -> Any:
        if failing:
            raise ConnectionError("no Redis")
        return await evalsha(*args, **kwargs)

    monkeypatch.setattr(redis, "evalsha", flaky)
    gate, second = asyncio.Event(), asyncio.Event()
    model.add(
        call(READ, before=gate, text="Looking. "),
        call("update_work_order", {"id": order["id"], "priority": "high"}, before=second),
        say("Done."),
    )
    async with say_to(owner, await open_session(owner), "go") as stream:
        await model.received(1)
        failing = True
        gate.set()
        await model.received(2)  # the read was done while nothing could be told
        failing = False
        second.set()
        asked = (await stream.until("tool_approval_required")).data
        await decide(owner, asked["toolCallId"], approve=True)
        heard = await stream.to_the_end()
    assert [event.name for event in heard if event.name != "token"] == [
        "tool_call_start", "tool_result", "tool_call_start", "tool_approval_required", "tool_result", "message_done",
    ]  # fmt: skip
    assert stream.text == "Looking. Done."


# -- text ----------------------------------------------------------------------------------------------------------

HOSTILE = [
    "line\u2028separator\u2029paragraph", "next\u0085line", "carriage\rreturn\r\nboth", "nul\u0000here",
    "\n\n\ndata: x\n\nevent: ping\n\n", "emoji \U0001f525\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u202eabc",
    "</script><hx-partial>", "\\ud800",
    "id: 5\nretry: 1\n: comment", "\ufeffbom", "tab\tend ",
]  # fmt: skip


async def test_any_text_arrives_as_it_was_sent(server: Server, model: ScriptedModel) -> None:
    """Scenarios 2.5, 2.6, 003 §4.8: JSON-encoded, ASCII on the wire; a NUL is shown as U+2400."""
    owner = await server.sign_in_as("owner")
    session = await open_session(owner)
    for text in HOSTILE:
        stream = await turn(owner, model, say(f"[{text}]"), session=session)
        expected = f"[{text}]".replace("\x00", "\u2400")
        assert stream.text == stream.heard[-1].data["content"] == expected
        assert_well_formed(stream.heard)
    async with owner.stream("GET", f"/api/v1/ai/runs/{stream.run_id}/events") as raw:
        assert (await raw.aread()).isascii()


async def test_a_lone_surrogate_from_the_model_is_shown_and_the_run_goes_on(
    server: Server, model: ScriptedModel
) -> None:
    """Scenario 2.6: in text it becomes U+FFFD."""
    owner = await server.sign_in_as("owner")
    delta = b'{"choices":[{"index":0,"delta":{"content":"a\\ud800b\\u0000c"},"finish_reason":"stop"}]}'
    chunks = (b"data: ", delta, b"\n\ndata: [DONE]\n\n")
    stream = await turn(owner, model, Raw(200, {"Content-Type": "text/event-stream"}, chunks))
    assert stream.text == "a\ufffdb\u2400c"
    assert stream.heard[-1].name == "message_done"


# -- doors ---------------------------------------------------------------------------------------------------------


async def test_a_repeated_message_with_the_same_key_starts_nothing(server: Server, model: ScriptedModel) -> None:
    """D-17, scenario 2.4: 409 with the run to watch, before AI_APPROVAL_PENDING, also at once and afterwards."""
    owner = await server.sign_in_as("owner")
    await make_order(owner)
    session = await open_session(owner)
    gate = asyncio.Event()
    model.add(say("Once.", before=gate))
    path, body = f"/api/v1/ai/sessions/{session}/messages", {"content": "hello"}
    async with say_to(owner, session, "hello", idempotency_key="key-1") as stream:
        answers = await asyncio.gather(
            *(owner.post(path, json=body, headers={"Idempotency-Key": "key-1"}) for _ in range(3)),
            owner.post(path, json=body, headers={"Idempotency-Key": "key-2"}),
        )
        gate.set()
        await stream.to_the_end()
    assert [answer.status_code for answer in answers] == [409] * 4
    codes = [answer.json()["error"]["code"] for answer in answers]
    assert codes == ["AI_MESSAGE_DUPLICATE"] * 3 + ["AI_APPROVAL_PENDING"]
    assert answers[0].json()["error"]["details"] == [{"field": "runId", "message": stream.run_id}]
    late = await owner.post(path, json=body, headers={"Idempotency-Key": "key-1"})
    assert late.json()["error"]["code"] == "AI_MESSAGE_DUPLICATE"
    assert len(model.requests) == 1
    stranger = await server.sign_in_as("stranger")
    async with say_to(stranger, await open_session(stranger), "hello", idempotency_key="key-1") as other:
        await other.to_the_end()  # another person's key is another key


async def test_ten_messages_at_once_start_one_run(server: Server, model: ScriptedModel) -> None:
    """D-26, 003 §4.7: one non-terminal run per person, whoever races."""
    owner = await server.sign_in_as("owner")
    session = await open_session(owner)
    gate = asyncio.Event()
    model.add(*(say("Once.", before=gate) for _ in range(10)))

    async def send(number: int) -> int:
        path = f"/api/v1/ai/sessions/{session}/messages"
        async with owner.stream("POST", path, json={"content": f"hello {number}"}) as answer:
            if answer.status_code == 200:
                gate.set()
            await answer.aread()
            return answer.status_code

    statuses = await asyncio.gather(*(send(number) for number in range(10)))
    assert sorted(set(statuses)) == [200, 409]
    runs = await server.desk.database["agentruns"].count_documents({})
    assert runs == statuses.count(200) == len(model.requests)


async def test_a_message_while_a_decision_is_pending_is_refused_in_plain_words(
    server: Server, model: ScriptedModel
) -> None:
    """Scenario 2.2, COP-1, COP-2: 409 AI_APPROVAL_PENDING for a message, a new session, and closing this one."""
    async with proposal(server, model) as waiting:
        message = await waiting.owner.post(f"/api/v1/ai/sessions/{waiting.session}/messages", json={"content": "and?"})
        session = await waiting.owner.post("/api/v1/ai/sessions")
        closing = await waiting.owner.delete(f"/api/v1/ai/sessions/{waiting.session}")
        for answer in (message, session, closing):
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "AI_APPROVAL_PENDING")
            assert "Decide or stop" in answer.json()["error"]["message"]
        await waiting.decide(approve=False)
        assert (await waiting.stream.to_the_end())[-1].name == "message_done"


async def test_another_persons_conversation_is_not_there(server: Server, model: ScriptedModel) -> None:
    """SEC-14, D-2: sessions, messages, runs, streams, cancel: 404 for everybody else."""
    others = [await server.sign_in_as(who) for who in ("stranger", "viewer")]
    async with proposal(server, model) as waiting:
        for other in others:
            answers = [
                await other.post(f"/api/v1/ai/sessions/{waiting.session}/messages", json={"content": "hi"}),
                await other.delete(f"/api/v1/ai/sessions/{waiting.session}"),
                await other.get(f"/api/v1/ai/runs/{waiting.run_id}"),
                await other.get(f"/api/v1/ai/runs/{waiting.run_id}/events"),
                await other.post(f"/api/v1/ai/runs/{waiting.run_id}/cancel"),
                await other.get(f"/app/runs/{waiting.run_id}"),
                await other.get(f"/app/copilot/runs/{waiting.run_id}/events"),
                await other.post(f"/api/v1/ai/tool-calls/{waiting.call_id}/undo"),
            ]
            assert [answer.status_code for answer in answers] == [404] * len(answers)
            assert (await other.get(f"/app/approvals/{waiting.call_id}")).status_code in (403, 404)
            assert waiting.order["title"] not in (await other.get(f"/app/copilot?session={waiting.session}")).text
            assert (await other.get("/api/v1/ai/approvals")).json()["data"] == []
            assert (await other.get("/api/v1/ai/runs")).json()["data"]["items"] == []
        await waiting.decide(approve=False)
        await waiting.stream.to_the_end()


async def test_the_token_is_nowhere_but_on_the_owners_wire(
    server: Server, model: ScriptedModel, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """T-12: not in MongoDB, not in Redis, not in the model's context, not in a log."""
    caplog.set_level("DEBUG")
    async with proposal(server, model) as waiting:
        token = waiting.asked["confirmationToken"]
        assert len(token) >= 43
        redis = server.desk.redis
        stored = [
            json.dumps(await redis.xrange(key))
            async for key in redis.scan_iter(f"{prefix_of(server)}:run:{waiting.run_id}:events")
        ]
        assert len(stored) == 1
        await waiting.decide(approve=True, confirmationToken=token)
        await waiting.stream.to_the_end()
        rows = [
            str(row)
            for name in await server.desk.database.list_collection_names()
            async for row in server.desk.database[name].find({})
        ]
    captured = capfd.readouterr()
    for text in (*stored, *rows, json.dumps(model.requests), caplog.text, captured.out, captured.err):
        assert token not in text


@pytest.mark.parametrize("overrides", [{"log_level": "debug"}])
async def test_no_words_of_people_or_model_reach_a_log(
    server: Server, model: ScriptedModel, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """SEC-1, COP-9: at debug level, over success, fault, failure and rejection."""
    caplog.set_level("DEBUG")
    owner = await server.sign_in_as("owner")
    await make_order(owner, title="zebra-order", description="zebra-description")
    session = await open_session(owner)
    for steps in (
        [call(READ), say("zebra-answer")],
        [call("zebra-tool", {"zebra": "zebra-argument"}), call("search_my_work_orders", '{"zebra": '), say("zebra")],
        [http_error(500, "zebra-failure")],
    ):
        await turn(owner, model, *steps, words="zebra-question", session=session)
    async with proposal(server, model, args={"title": "zebra-title"}) as waiting:
        await waiting.decide(approve=False, reason="zebra-reason")
        await waiting.stream.to_the_end()
    captured = capfd.readouterr()
    assert "zebra" not in caplog.text + captured.out + captured.err


async def test_the_runs_of_a_person_are_listed(server: Server, model: ScriptedModel) -> None:
    """COP-10, D-30, COP-8: newest first, with counts; the detail holds messages and calls; sessions are listed."""
    owner = await server.sign_in_as("owner")
    session = await open_session(owner)
    for number in range(3):
        last = await turn(owner, model, say(f"answer {number}"), words=f"question {number}", session=session)
    page = (await owner.get("/api/v1/ai/runs?limit=2")).json()["data"]
    assert (page["total"], page["page"], page["limit"], len(page["items"])) == (3, 1, 2, 2)
    assert page["items"][0]["id"] == last.run_id
    detail = (await owner.get(f"/api/v1/ai/runs/{last.run_id}")).json()["data"]
    assert [(m["role"], m["content"]) for m in detail["messages"]] == [
        ("user", "question 2"),
        ("assistant", "answer 2"),
    ]
    assert [item["id"] for item in (await owner.get("/api/v1/ai/sessions")).json()["data"]] == [session]
    assert (await owner.get(f"/api/v1/ai/runs/{ObjectId()}")).status_code == 404
    listed = (await owner.get("/app/runs")).text
    assert "question 2" in listed
    assert "answer 2" in (await owner.get(f"/app/runs/{last.run_id}")).text
