"""What an endpoint does not take is learnt from its 400s (D-25)."""

from __future__ import annotations

from typing import Any

import pytest

from app.llm.demo.script import http_error, say
from app.llm.demo.scripted_model import ScriptedModel
from app.llm.openai_compat import OpenAICompatProvider
from app.llm.port import ChatMessage, ChatRequest, ProviderUnavailable

REQUEST = ChatRequest(messages=(ChatMessage("user", "x"),), max_tokens=64)
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
STRUCTURED = ChatRequest(messages=REQUEST.messages, max_tokens=64, schema=SCHEMA)


def provider(model: ScriptedModel, **options: Any) -> OpenAICompatProvider:
    return OpenAICompatProvider(model.base_url, "key", "the-model", allow_local=True, **options)


def refusing(*kinds: str) -> Any:
    """An endpoint that answers 400 to these kinds of `response_format`."""

    def step(body: dict[str, Any]) -> Any:
        kind = body.get("response_format", {}).get("type")
        return (
            http_error(400, f'{{"error":{{"message":"{kind} is not supported in response_format"}}}}')
            if kind in kinds
            else say("{}")
        )

    return step


def kinds_asked(model: ScriptedModel) -> list[str | None]:
    return [body.get("response_format", {}).get("type") for body in model.requests]


@pytest.mark.parametrize(
    ("refused", "asked"),
    [
        ((), ["json_schema", "json_schema"]),
        (("json_schema",), ["json_schema", "json_object", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", None, None]),
    ],
)
async def test_structured_output_falls_back_and_remembers(refused: tuple[str, ...], asked: list[str | None]) -> None:
    """D-25: `auto`."""
    async with ScriptedModel(*[refusing(*refused)] * 4) as model, provider(model) as adapter:
        assert [(await adapter.complete(STRUCTURED)).text for _ in range(2)] == ["{}", "{}"]
        assert kinds_asked(model) == asked
        assert model.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("setting", "asked"), [("json_schema", "json_schema"), ("json_object", "json_object"), ("off", None)]
)
async def test_a_fixed_kind_of_structured_output_is_kept(setting: Any, asked: str | None) -> None:
    """D-25."""
    async with ScriptedModel(refusing("json_schema", "json_object")) as model:
        async with provider(model, structured_output=setting) as adapter:
            if asked is None:
                await adapter.complete(STRUCTURED)
            else:
                with pytest.raises(ProviderUnavailable):
                    await adapter.complete(STRUCTURED)
        assert kinds_asked(model) == [asked]


async def test_a_400_about_something_else_is_no_reason_to_fall_back() -> None:
    """D-25: only a 400 that names it."""
    async with ScriptedModel(http_error(400, '{"error":"bad model"}'), say("{}")) as model, provider(model) as adapter:
        with pytest.raises(ProviderUnavailable):
            await adapter.complete(STRUCTURED)
        await adapter.complete(STRUCTURED)
        assert kinds_asked(model) == ["json_schema", "json_schema"]


async def test_a_request_without_a_schema_asks_for_no_structure() -> None:
    """D-25."""
    async with ScriptedModel(say("hi")) as model, provider(model) as adapter:
        await adapter.complete(REQUEST)
        assert kinds_asked(model) == [None]


async def test_a_model_that_wants_the_newer_name_of_the_limit_gets_it() -> None:
    """COP-9: recent models refuse `max_tokens`; learnt once."""
    refusal = http_error(400, '{"error":{"message":"Use max_completion_tokens instead of max_tokens"}}')
    async with ScriptedModel(refusal, say("a"), say("b")) as model, provider(model) as adapter:
        await adapter.complete(REQUEST)
        await adapter.complete(REQUEST)
        assert [body.get("max_completion_tokens") for body in model.requests] == [None, 64, 64]
        assert "max_tokens" not in model.requests[1]
