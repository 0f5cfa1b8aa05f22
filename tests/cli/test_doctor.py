"""`desk doctor` says what holds and what does not."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from app.llm.demo.script import http_error, say
from app.llm.demo.scripted_model import ScriptedModel
from app.llm.doctor import examine_endpoint
from app.llm.openai_compat import OpenAICompatProvider


async def _doctor(tmp_path: Path, **environment: str) -> tuple[int, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.cli", "doctor", "--provider",
        env=kept | {"DESK_DIR": str(tmp_path), "APP_ENV": "test", "PYTHONPATH": os.getcwd()} | environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, output.decode()


async def test_the_doctor_plays_every_bad_stream_and_probes_the_configured_endpoint(
    tmp_path: Path, model: ScriptedModel
) -> None:
    """Contract section 7, D-9: one line a finding, exit 0 when all are good, the key nowhere."""
    code, output = await _doctor(
        tmp_path,
        AI_ENABLED="true",
        AI_ALLOW_LOCAL_PROVIDER="true",
        AI_BASE_URL=model.base_url,
        AI_MODEL="demo",
        AI_API_KEY="sk-never-shown-0123456789",
    )
    assert "call-in-pieces" in output
    assert "two-calls-share-index-0" in output
    assert "streaming and usage" in output
    assert "asked for list_my_work_orders" in output
    assert "FAIL" not in output, output
    assert code == 0
    assert "sk-never-shown" not in output


async def test_the_doctor_says_what_an_endpoint_cannot_do() -> None:
    """Contract section 7: a model that answers in words, and one that is down, are named."""
    async with (
        ScriptedModel(say("ready"), say("I would rather talk."), http_error(500)) as model,
        OpenAICompatProvider(model.base_url, "key", "m", allow_local=True) as provider,
    ):
        findings = {finding.subject: finding async for finding in examine_endpoint(provider)}
    assert findings["streaming and usage"].good
    assert not findings["tools"].good
    assert "answered in words" in findings["tools"].words
    assert findings["structured output"].words == "status 500"
