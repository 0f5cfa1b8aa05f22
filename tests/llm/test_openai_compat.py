"""The HTTP adapter against a real server (COP-9, SEC-1 to SEC-3, D-19, D-25)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import httpx
import pytest

from app.llm.demo.script import Raw, call, http_error, say
from app.llm.demo.scripted_model import ScriptedModel
from app.llm.openai_compat import OpenAICompatProvider, Timeouts
from app.llm.port import (
    CallFault,
    CallRef,
    CallRequested,
    ChatMessage,
    ChatRequest,
    Delta,
    ProviderUnavailable,
    StepDone,
    TextDelta,
    ToolSpec,
    Usage,
)

KEY = "sk-very-secret-0123456789"
SECRET_WORDS = "the-prompt-of-a-person"
REQUEST = ChatRequest(messages=(ChatMessage("user", SECRET_WORDS),), max_tokens=64)
SSE = {"Content-Type": "text/event-stream"}


def provider(model: ScriptedModel, **options: Any) -> OpenAICompatProvider:
    return OpenAICompatProvider(model.base_url, KEY, "the-model", allow_local=True, **options)


async def deltas(adapter: OpenAICompatProvider, request: ChatRequest = REQUEST) -> list[Delta]:
    return [delta async for delta in adapter.stream(request)]


async def test_a_step_is_asked_and_answered_in_the_protocol() -> None:
    """COP-9: what is sent, and what comes back, streaming and not."""
    history = (
        ChatMessage("system", "S"),
        ChatMessage("user", "ü\ud800"),
        ChatMessage("assistant", "", calls=(CallRef("c1", "get_profile", "{}"),)),
        ChatMessage("tool", '{"name":"x"}', tool_call_id="c1"),
    )
    tool = ToolSpec("get_profile", "Who am I", {"type": "object", "properties": {}})
    request = ChatRequest(history, 77, (tool,))
    answer = call("get_profile", {"a": 1}, text="Let me look.", usage=(11, 7))
    async with ScriptedModel(answer, answer) as model, provider(model) as adapter:
        streamed = await deltas(adapter, request)
        whole = await adapter.complete(request)
        sent, sent_whole = model.requests
        assert model.headers[0]["authorization"] == f"Bearer {KEY}"
        assert model.headers[0]["accept-encoding"] == "identity"
    assert "".join(d.text for d in streamed if isinstance(d, TextDelta)) == whole.text == "Let me look."
    assert len([d for d in streamed if isinstance(d, TextDelta)]) >= 1
    calls = [d for d in streamed if isinstance(d, CallRequested)]
    assert [(c.name, c.arguments) for c in (*calls, *whole.calls)] == [("get_profile", {"a": 1})] * 2
    assert streamed[-1] == StepDone(Usage(11, 7))
    assert whole.usage == Usage(11, 7)
    assert (sent["model"], sent["max_tokens"], sent["stream"]) == ("the-model", 77, True)
    assert sent["stream_options"] == {"include_usage": True}
    assert "stream" not in sent_whole
    assert sent["tools"][0]["function"]["name"] == "get_profile"
    assert sent["messages"][2]["tool_calls"][0]["function"] == {"name": "get_profile", "arguments": "{}"}
    assert sent["messages"][3] == {"role": "tool", "content": '{"name":"x"}', "tool_call_id": "c1"}


async def test_text_arrives_before_the_answer_is_over() -> None:
    """COP-9: words are shown as they come."""
    gate = asyncio.Event()
    async with ScriptedModel(say("One two three four five six", middle=gate)) as model, provider(model) as adapter:
        stream = adapter.stream(REQUEST)
        assert await anext(stream) == TextDelta("One two three ")
        gate.set()
        assert isinstance([delta async for delta in stream][-1], StepDone)


async def test_closing_the_stream_closes_the_connection() -> None:
    """D-3: a stopped run ends its request."""
    async with ScriptedModel(say("One two three four", middle=asyncio.Event())) as model, provider(model) as adapter:
        async with aclosing(cast("AsyncGenerator[Delta, None]", adapter.stream(REQUEST))) as stream:
            await anext(stream)
        await model.disconnected()


async def test_a_cancelled_step_closes_the_connection() -> None:
    """D-3, D-18."""
    async with ScriptedModel(say("late", before=asyncio.Event())) as model, provider(model) as adapter:
        step = asyncio.create_task(adapter.complete(REQUEST))
        await model.received(1)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        await model.disconnected()


@pytest.mark.parametrize(
    "timeouts", [Timeouts(read=0.1), Timeouts(overall=0.1)], ids=["silence between pieces", "the whole step"]
)
@pytest.mark.parametrize("gate", ["before", "middle"])
async def test_an_answer_that_takes_too_long_is_unavailable(timeouts: Timeouts, gate: str) -> None:
    """COP-9: every wait has an end."""
    late = say("One two three four", **{gate: asyncio.Event()})
    async with ScriptedModel(late) as model, provider(model, timeouts=timeouts) as adapter:
        with pytest.raises(ProviderUnavailable) as caught:
            await deltas(adapter)
    assert caught.value.reason == "answer timed out"


async def test_silence_after_the_end_of_the_answer_is_only_the_end() -> None:
    """D-9: a `finish_reason` was seen; the usage that did not come costs the reservation."""
    end = b'data: {"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}\n\n'
    held = Raw(200, SSE, (end,), middle=asyncio.Event())
    async with ScriptedModel(held) as model, provider(model, timeouts=Timeouts(read=0.1)) as adapter:
        assert await deltas(adapter) == [TextDelta("ok"), StepDone(None)]


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_over_the_size_cap_is_unavailable(stream: bool) -> None:
    """SEC-3."""
    flood = Raw(200, SSE if stream else {"Content-Type": "application/json"}, (b" " * 700,) * 3)
    async with ScriptedModel(flood) as model, provider(model, max_bytes=2000) as adapter:
        with pytest.raises(ProviderUnavailable) as caught:
            await (deltas(adapter) if stream else adapter.complete(REQUEST))
    assert caught.value.reason == "answer is too large"


@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_is_refused_and_the_key_goes_nowhere_else(status: int) -> None:
    """SEC-2, D-19."""
    async with ScriptedModel() as other, ScriptedModel() as model, provider(model) as adapter:
        model.add(Raw(status, {"Location": other.base_url + "/chat/completions"}))
        with pytest.raises(ProviderUnavailable) as caught:
            await adapter.complete(REQUEST)
        assert caught.value.reason == f"status {status}"
        assert other.requests == []
        assert len(model.requests) == 1


@pytest.mark.parametrize(
    "raw",
    [
        http_error(
            401, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}. You said {SECRET_WORDS}"}})
        ),
        http_error(400, json.dumps({"error": {"message": SECRET_WORDS}})),
        http_error(503),
        Raw(200, {"Content-Type": "application/json"}, (b"<html>",)),
        Raw(200, {"Content-Type": "application/json"}, (b'{"choices": []}',)),
        Raw(200, {"Content-Type": "application/json"}, (f'{{"error": {{"message": "{KEY}"}}}}'.encode(),)),
        Raw(200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, (b"\x1f\x8b",)),
        Raw(200, SSE, (b"data: {\n\n",)),
        Raw(200, SSE, (b"data: \xff\n\n",)),
        Raw(200, SSE, (b"event: error\ndata: {}\n\n",)),
        Raw(200, SSE, (b'data: {"choices": []}\n\n',), "reset"),
    ],
)
async def test_a_failure_says_its_kind_and_nothing_of_key_prompt_or_answer(
    raw: Raw, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-1, COP-9."""
    caplog.set_level(logging.INFO)
    async with ScriptedModel(raw) as model, provider(model) as adapter:
        with pytest.raises(ProviderUnavailable) as caught:
            await deltas(adapter)
        said = [
            str(caught.value),
            repr(caught.value),
            caught.value.reason,
            repr(adapter),
            str(vars(adapter)),
            caplog.text,
        ]
        assert not [text for text in said if KEY in text or SECRET_WORDS in text]
        assert "127.0.0.1" not in caught.value.reason
    chained: BaseException | None = caught.value
    while chained is not None:
        assert not isinstance(chained, httpx.HTTPError)  # its request holds the key
        chained = chained.__cause__ or chained.__context__


async def test_a_local_provider_may_be_named_localhost() -> None:
    """D-19: the system's own resolver, then the same check."""
    async with ScriptedModel(say("ok")) as model:
        address = model.base_url.replace("127.0.0.1", "localhost")
        async with OpenAICompatProvider(address, KEY, "m", allow_local=True) as adapter:
            assert (await adapter.complete(REQUEST)).text == "ok"


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    """COP-9."""
    async with ScriptedModel() as model:
        address = model.base_url
    async with OpenAICompatProvider(address, KEY, "m", allow_local=True) as adapter:
        with pytest.raises(ProviderUnavailable) as caught:
            await adapter.complete(REQUEST)
    assert caught.value.reason == "connection failed"


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    """SEC-1."""
    for key in ("bad\nkey", "bad key", "schlüssel"):
        with pytest.raises(ValueError, match="AI_API_KEY") as caught:
            OpenAICompatProvider("https://api.example.com/v1", key, "m")
        assert key not in str(caught.value)


def test_a_private_base_url_is_refused_when_the_provider_is_made() -> None:
    """SEC-2."""
    with pytest.raises(ValueError, match="AI_BASE_URL"):
        OpenAICompatProvider("http://127.0.0.1:1/v1", KEY, "m")


async def test_without_a_key_no_authorization_is_sent() -> None:
    """D-19: local servers ask for none."""
    async with (
        ScriptedModel(say("ok")) as model,
        OpenAICompatProvider(model.base_url, "", "m", allow_local=True) as adapter,
    ):
        await adapter.complete(REQUEST)
        assert "authorization" not in model.headers[0]


async def test_an_endpoint_that_answers_a_stream_in_one_piece_is_understood() -> None:
    """D-9."""
    body = {
        "choices": [
            {
                "message": {
                    "content": [{"type": "text", "text": "Hi"}],
                    "tool_calls": [{"function": {"name": "", "arguments": ""}}],
                }
            }
        ]
    }
    whole = Raw(200, {"Content-Type": "application/json; charset=utf-8"}, (json.dumps(body).encode(),))
    async with ScriptedModel(whole) as model, provider(model) as adapter:
        text, fault, done = await deltas(adapter)
    assert text == TextDelta("Hi")
    assert isinstance(fault, CallFault)
    assert done == StepDone(None)
