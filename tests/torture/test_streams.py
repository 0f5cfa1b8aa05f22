"""Every recorded answer that broke somebody, played over HTTP against the real adapter (D-9, COP-9)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.llm.demo.script import playback
from app.llm.demo.scripted_model import ScriptedModel
from app.llm.openai_compat import OpenAICompatProvider
from app.llm.port import (
    CallFault,
    CallRequested,
    ChatMessage,
    ChatRequest,
    Delta,
    ProviderUnavailable,
    StepDone,
    TextDelta,
)

FILES = sorted((Path(__file__).parent.parent / "data" / "torture").glob("*.json"))
RECORDINGS = {file.stem: json.loads(file.read_text()) for file in FILES}
REQUEST = ChatRequest(messages=(ChatMessage("user", "show my orders"),), max_tokens=100)


@dataclass
class Seen:
    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    faults: int = 0
    outcome: str = "ok"
    usage: Any = "reserved"

    def take(self, delta: Delta) -> None:
        if isinstance(delta, TextDelta):
            self.text += delta.text
        elif isinstance(delta, CallRequested):
            self.calls.append({"name": delta.name, "arguments": delta.arguments})
            self.ids.append(delta.provider_id)
        elif isinstance(delta, CallFault):
            self.faults += 1
        elif isinstance(delta, StepDone) and delta.usage:
            self.usage = {"input": delta.usage.input_tokens, "output": delta.usage.output_tokens}


async def seen(recorded: dict[str, Any]) -> Seen:
    result = Seen()
    async with (
        ScriptedModel(playback(recorded)) as model,
        OpenAICompatProvider(model.base_url, "key", "m", allow_local=True) as provider,
        asyncio.timeout(20),
    ):
        try:
            async for delta in provider.stream(REQUEST):
                result.take(delta)
        except ProviderUnavailable:
            result.outcome = "unavailable"
    return result


@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_recorded_stream_comes_out_as_expected(name: str) -> None:
    """D-9, COP-9, scenarios 2.5 and 3.1."""
    recorded = RECORDINGS[name]
    result = await seen(recorded)
    expected = recorded["expect"]
    found = {key: getattr(result, key) for key in ("text", "calls", "faults", "outcome", "usage")}
    assert found == {key: expected[key] for key in found}
    assert all(result.ids)
    assert len(set(result.ids)) == len(result.ids)


def test_the_recordings_are_there() -> None:
    """D-9: an empty folder must not pass for success."""
    assert len(RECORDINGS) >= 30
