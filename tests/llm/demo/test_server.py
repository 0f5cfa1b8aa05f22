"""The demo model's server, through the desk's own adapter and as an HTTP endpoint."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from app.llm.demo.script import Call, Raw, call, say
from app.llm.demo.scripted_model import ScriptedModel
from app.llm.openai_compat import OpenAICompatProvider
from app.llm.port import CallRequested, ChatMessage, ChatRequest, StepDone, TextDelta, ToolSpec

TOOL = ToolSpec("list_my_work_orders", "Lists", {"type": "object", "properties": {}})


async def test_an_empty_script_leaves_the_answer_to_the_rules_in_small_pieces_with_usage() -> None:
    """The demo model streams like a real one."""
    async with (
        ScriptedModel() as model,
        OpenAICompatProvider(model.base_url, "k", "m", allow_local=True) as provider,
    ):
        hello = [d async for d in provider.stream(ChatRequest((ChatMessage("user", "hello"),), 50))]
        asked = [d async for d in provider.stream(ChatRequest((ChatMessage("user", "show my orders"),), 50, (TOOL,)))]
    assert "no language model" in "".join(d.text for d in hello if isinstance(d, TextDelta))
    assert isinstance(hello[-1], StepDone)
    assert hello[-1].usage is not None
    assert [d.name for d in asked if isinstance(d, CallRequested)] == ["list_my_work_orders"]


async def test_a_script_is_played_in_order_and_the_requests_are_recorded() -> None:
    """The test helper."""

    def second(body: dict[str, Any]) -> Any:
        return say(body["messages"][0]["content"].upper(), usage=None)

    model = ScriptedModel(say("one"), second)
    model.add(call("get_profile", "{not json", usage=(3, 4)))
    async with model, OpenAICompatProvider(model.base_url, "k", "m", allow_local=True) as provider:
        request = ChatRequest((ChatMessage("user", "abc"),), 50)
        answers = [await provider.complete(request) for _ in range(3)]
        assert [a.text for a in answers] == ["one", "ABC", ""]
        assert answers[1].usage is None
        assert len(answers[2].faults) == 1
        assert len(await model.received(3)) == 3
        assert model.pending == 0
        with pytest.raises(TimeoutError):
            await model.received(4, timeout_s=0.01)


async def test_a_gate_holds_an_answer_until_it_is_opened() -> None:
    """The test helper."""
    gate = asyncio.Event()
    async with (
        ScriptedModel(say("late", before=gate)) as model,
        OpenAICompatProvider(model.base_url, "k", "m", allow_local=True) as provider,
    ):
        step = asyncio.create_task(provider.complete(ChatRequest((ChatMessage("user", "x"),), 5)))
        await model.received(1)
        assert not step.done()
        gate.set()
        assert (await step).text == "late"


async def test_calls_without_an_id_get_one_and_a_given_id_is_kept() -> None:
    """The test helper."""
    from app.llm.demo.script import Answer

    async with (
        ScriptedModel(Answer(calls=(Call("a", {}), Call("b", {}, id="mine")))) as model,
        OpenAICompatProvider(model.base_url, "k", "m", allow_local=True) as provider,
    ):
        done = await provider.complete(ChatRequest((ChatMessage("user", "x"),), 5))
    assert done.calls[0].provider_id
    assert done.calls[1].provider_id == "mine"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/v1/models", 200),
        ("GET", "/nothing", 404),
        ("GET", "/v1/chat/completions", 404),
    ],
)
async def test_the_small_endpoints_answer(method: str, path: str, status: int) -> None:
    """`desk demo-model`."""
    async with ScriptedModel() as model, httpx.AsyncClient(trust_env=False) as client:
        response = await client.request(method, model.base_url.removesuffix("/v1") + path)
    assert response.status_code == status
    assert response.json()


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", '{"messages": 5}', '{"messages": [5]}', '{"messages": [{"role": "assistant", "tool_calls": 5}]}'],
)
async def test_a_malformed_request_is_a_400(body: str) -> None:
    """`desk demo-model`."""
    async with ScriptedModel() as model, httpx.AsyncClient(trust_env=False) as client:
        response = await client.post(model.base_url + "/chat/completions", content=body)
    assert response.status_code == 400


async def test_a_raw_answer_is_sent_byte_for_byte() -> None:
    """The test helper."""
    raw = Raw(418, {"X-Test": "1"}, (b"\xff\x00", b"b"))
    async with ScriptedModel(raw) as model, httpx.AsyncClient(trust_env=False) as client:
        response = await client.post(model.base_url + "/chat/completions", content=json.dumps({"messages": []}))
    assert (response.status_code, response.headers["x-test"], response.content) == (418, "1", b"\xff\x00b")
