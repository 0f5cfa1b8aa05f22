"""`desk doctor --provider`: what the adapter tolerates, and what a configured endpoint can do.

The probe sends four small requests to the endpoint that the settings name. Nothing of an answer is printed but what is
asked about; never the key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from app.llm.openai_compat import OpenAICompatProvider
from app.llm.port import CallRequested, ChatMessage, ChatRequest, Delta, ProviderUnavailable, ToolSpec
from app.llm.recorded import played, recordings

_ASK = "Say the word ready, nothing else."
_USE_TOOL = "List my pending work orders. Use the tool."
_TOOL = ToolSpec(
    "list_my_work_orders",
    "The person's work orders.",
    {"type": "object", "properties": {"status": {"type": "string", "enum": ["pending", "done"]}}},
)
_ORDER = '{"title": "Gas leak in the basement", "description": null}'
_SCHEMA = {
    "type": "object",
    "properties": {"suggestedPriority": {"type": "string", "enum": ["low", "medium", "high"]}},
    "required": ["suggestedPriority"],
    "additionalProperties": False,
}
_MAX_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    good: bool
    subject: str
    words: str

    def line(self) -> str:
        return f"{'ok  ' if self.good else 'FAIL'}  {self.subject:<34} {self.words}"


async def examine_adapter() -> AsyncIterator[Finding]:
    """Each known-bad stream against the adapter, over HTTP."""
    for name, recorded in recordings().items():
        differences = (await played(recorded)).differences(recorded["expect"])
        seen = f"{recorded['expect']['outcome']}; seen: {recorded['seen']}"
        yield Finding(not differences, name, "; ".join(differences) or seen)


async def examine_endpoint(provider: OpenAICompatProvider) -> AsyncIterator[Finding]:
    """Models, streaming, usage, tools and structured output of a real endpoint. Costs a few hundred tokens."""
    yield await _finding("models", lambda: _models(provider))
    yield await _finding("streaming and usage", lambda: _streams(provider))
    yield await _finding("tools", lambda: _tools(provider))
    yield await _finding("structured output", lambda: _structured(provider))


async def _finding(subject: str, probe: Callable[[], Awaitable[Finding]]) -> Finding:
    try:
        return await probe()
    except ProviderUnavailable as error:
        return Finding(False, subject, error.reason)


async def _models(provider: OpenAICompatProvider) -> Finding:
    names = await provider.models()
    known = provider.model in names
    return Finding(
        True,
        "models",
        f"{len(names)} listed; {provider.model} is {'one of them' if known else 'not listed (some hide it)'}",
    )


async def _streams(provider: OpenAICompatProvider) -> Finding:
    deltas = await _all(provider, ChatRequest((ChatMessage("user", _ASK),), _MAX_TOKENS))
    done = deltas[-1]
    reported = getattr(done, "usage", None)
    words = f"{len(deltas) - 1} pieces; " + (
        f"usage reported ({reported.input_tokens} in, {reported.output_tokens} out)"
        if reported
        else "no usage: each call is charged at its reservation"
    )
    return Finding(len(deltas) > 1, "streaming and usage", words)


async def _tools(provider: OpenAICompatProvider) -> Finding:
    deltas = await _all(provider, ChatRequest((ChatMessage("user", _USE_TOOL),), _MAX_TOKENS, (_TOOL,)))
    calls = [delta for delta in deltas if isinstance(delta, CallRequested)]
    if calls:
        return Finding(True, "tools", f"asked for {calls[0].name}")
    return Finding(False, "tools", "answered in words: the copilot needs a model that calls tools")


async def _structured(provider: OpenAICompatProvider) -> Finding:
    request = ChatRequest((ChatMessage("user", _ORDER),), _MAX_TOKENS, schema=_SCHEMA)
    completion = await provider.complete(request)
    good = any(word in completion.text for word in ("low", "medium", "high")) and "{" in completion.text
    return Finding(good, "structured output", "JSON as asked" if good else "no JSON: triage will retry and then fail")


async def _all(provider: OpenAICompatProvider, request: ChatRequest) -> list[Delta]:
    return [delta async for delta in provider.stream(request)]
