"""What becomes of the answer to a request: a small result, or one plain sentence."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from app.tools.connections.answers import OUTCOME_UNKNOWN
from app.tools.tool import ToolFault
from app.tools.trimming import MAX_CHARS
from app.web.limits import RateLimiter
from tests.tools.connections.calling import ACTOR, RESERVE, asked, sent, tool_over
from tests.tools.connections.systems import ENVIRONMENT, shipped, write_policy
from tests.tools.connections.wires import Behaviour, answers, floods, hangs, says, wired


async def reading(
    behaviour: Behaviour, tmp_path: Path, limiter: RateLimiter, method: str = "GET", timeout_ms: int = 10_000
) -> Any:
    """What comes of one call to a server of `behaviour`."""
    async with wired(behaviour) as wire:
        limits = {"timeoutMs": timeout_ms, "maxResponseBytes": 20_000}
        policy = shipped("inventory") | {"baseUrl": wire.url, "limits": limits}
        write_policy(tmp_path / "connections", "inventory", policy)
        tool = tool_over(tmp_path / "connections", limiter)
        if method == "POST":
            return await sent(tool, RESERVE)
        return json.loads((await tool.read(ACTOR, asked("GET", "/parts", intent="read"))).text)


UNKNOWN = "The request may or may not have arrived"
ARRIVED = "The request has arrived"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (hangs(), UNKNOWN),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nabc"), UNKNOWN),
        (floods(), ARRIVED),
        (answers(b"", status="302 Found", more="Location: http://127.0.0.1/\r\n"), "redirect, which is never followed"),
        (answers(b"\x89PNG", kind="image/png"), ARRIVED),
        (answers(b"{}", kind=""), ARRIVED),
        (answers(b'{"a":1,"a":2}'), ARRIVED),
        (answers(b"{" * 5000), ARRIVED),
        (answers(b"<b>No\x00pe</b>\n" * 90, status="500 Oops", kind="text/html"), "answered 500: <b>No pe</b> <b>"),
        (answers(b"", status="404 Not Found"), "answered 404."),
    ],
    ids=["silent", "broken", "huge", "redirect", "image", "untyped", "twice", "deep", "html 500", "empty 404"],
)
async def test_a_bad_answer_is_one_plain_sentence(
    behaviour: Behaviour, said: str, method: str, tmp_path: Path, limiter: RateLimiter
) -> None:
    """T-10, D-5: never more is claimed than is known."""
    with pytest.raises(ToolFault) as raised:
        await reading(behaviour, tmp_path, limiter, method, 300 if said == UNKNOWN else 10_000)
    assert said in raised.value.message
    assert len(raised.value.message) < 400
    assert (raised.value.code == OUTCOME_UNKNOWN) is (said == UNKNOWN)
    assert raised.value.__cause__ is raised.value.__context__ is None


@pytest.mark.parametrize(
    ("behaviour", "body"),
    [
        (answers(b"", status="204 No Content"), None),
        (answers("Grüße".encode(), kind="text/plain; charset=utf-8"), "Grüße"),
        (answers(b"[1]", kind="application/vnd.parts+json; v=2"), [1]),
    ],
)
async def test_text_json_and_nothing_are_answers(
    behaviour: Behaviour, body: Any, tmp_path: Path, limiter: RateLimiter
) -> None:
    """T-10."""
    assert (await reading(behaviour, tmp_path, limiter))["body"] == body


@pytest.mark.parametrize(
    "body",
    [json.dumps(['ü\n"' * 9] * 150).encode(), json.dumps({"a": "\\" * 9000}).encode(), b'"' + b"x" * 4100 + b'"'],
)
async def test_a_long_answer_is_cut_and_says_so(body: bytes, tmp_path: Path, limiter: RateLimiter) -> None:
    """T-10, 003 §4.7: results are trimmed like any tool's."""
    result = await reading(answers(body), tmp_path, limiter)
    text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    assert MAX_CHARS - 400 < len(text) <= MAX_CHARS
    assert result["cut"].endswith("this is its beginning.")


async def test_the_secret_is_in_no_result_error_description_or_log(
    tmp_path: Path, limiter: RateLimiter, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-1, T-10: also where the system echoes what it was sent."""
    caplog.set_level(logging.DEBUG)
    secret = ENVIRONMENT["INVENTORY_TOKEN"]
    echo = json.dumps({"headers": {"Authorization": secret}, "token": secret.split()[1]}).encode()
    told = [str(await reading(answers(echo), tmp_path, limiter))]
    for behaviour in (answers(echo, status="401 No"), hangs(), answers(echo * 2), answers(echo, kind="text/html")):
        try:
            told.append(str(await reading(behaviour, tmp_path, limiter, timeout_ms=1_000)))
        except ToolFault as fault:
            told.append(repr(fault) + str(fault))
    tool = tool_over(tmp_path / "connections", limiter)
    told += [tool.description, repr(tool.endpoint_policies), caplog.text]
    assert "stock-7391-secret" not in "".join(told)
    assert "•••" in told[0]
