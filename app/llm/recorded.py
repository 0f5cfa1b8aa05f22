"""Answers of OpenAI-compatible endpoints that broke somebody, each with what must come of it (D-9).

A recording is `{name, seen, mode, status, headers, chunks, end, expect: {text, calls, faults, outcome, usage}}`; see
`app.llm.demo.script.playback`. The tests and `desk doctor --provider` play them against the real adapter over HTTP.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

_FOLDER = Path(__file__).parent / "recordings"
_REQUEST = ChatRequest(messages=(ChatMessage("user", "show my orders"),), max_tokens=100)
_EXPECTED = ("text", "calls", "faults", "outcome", "usage")
_TIMEOUT_S = 20


def recordings() -> dict[str, dict[str, Any]]:
    """Every recording by its name."""
    return {file.stem: json.loads(file.read_text()) for file in sorted(_FOLDER.glob("*.json"))}


@dataclass(slots=True)
class Seen:
    """What came out of the adapter."""

    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    faults: int = 0
    outcome: str = "ok"
    usage: Any = "reserved"

    def differences(self, expected: dict[str, Any]) -> list[str]:
        """`key: expected …, got …` for each part that is not as it must be."""
        return [
            f"{key}: expected {expected[key]!r}, got {getattr(self, key)!r}"
            for key in _EXPECTED
            if getattr(self, key) != expected[key]
        ]

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


async def played(recorded: dict[str, Any]) -> Seen:
    """One recording, served over HTTP on loopback and read by the real adapter."""
    result = Seen()
    async with (
        ScriptedModel(playback(recorded)) as model,
        OpenAICompatProvider(model.base_url, "key", "m", allow_local=True) as provider,
        asyncio.timeout(_TIMEOUT_S),
    ):
        try:
            async for delta in provider.stream(_REQUEST):
                result.take(delta)
        except ProviderUnavailable:
            result.outcome = "unavailable"
    return result
