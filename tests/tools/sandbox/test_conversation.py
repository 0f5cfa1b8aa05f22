"""What passes the pipe between a tool and the desk, and what a hostile tool makes of it (T-11)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.core.errors import NotFound
from app.tools.sandbox.errors import ToolFailed
from app.tools.sandbox.limits import Limits
from app.tools.sandbox.sandbox import Sandbox
from tests.tools.sandbox.conftest import HOSTILE, ORDER_ID, WHOAMI, failure, one_order


async def test_another_person_s_order_is_not_handed_over(sandbox: Sandbox) -> None:
    """T-11: the desk answers as the caller's Actor."""
    questions = [{"name": "get_order", "params": {"id": order_id}} for order_id in ("f" * 24, ORDER_ID)]
    other, own = await sandbox.run(HOSTILE / "ask.py", {"questions": questions}, one_order)
    assert other == {"refused": NotFound.default_message}
    assert own["answered"]["id"] == ORDER_ID


async def test_the_desk_answers_no_other_question(strongest: Sandbox) -> None:
    """T-11: nothing reaches the caller's side but the three questions in their form."""
    asked: list[str] = []

    async def answer(name: str, _params: dict[str, Any]) -> Any:
        asked.append(name)

    questions: list[tuple[str, dict[str, Any]]] = [
        ("delete_order", {"id": ORDER_ID}),
        ("__init__", {}),
        ("list_orders", {"owner": "f" * 24}),
        ("get_order", {"id": {"$ne": None}}),
        ("whoami", {"id": ORDER_ID}),
    ]
    args = {"questions": [{"name": name, "params": params} for name, params in questions]}
    told = await strongest.run(HOSTILE / "ask.py", args, answer)
    assert asked == []
    only = "The desk answers only list_orders, get_order, whoami, request."
    fields = ["list_orders: not valid: owner.", "get_order: not valid: id.", "whoami: not valid: id."]
    assert told == [{"refused": message} for message in (only, only, *fields)]


async def test_asking_without_end_ends_the_call(strongest: Sandbox) -> None:
    """T-11."""
    assert await failure(strongest, "ask", questions=[WHOAMI] * 1000) == "It asked the desk more than 20 times."


async def test_an_answer_that_is_too_large_is_not_sent(strongest: Sandbox) -> None:
    """T-11."""

    async def answer(_name: str, _params: dict[str, Any]) -> Any:
        return "x" * 100_000

    told = await strongest.run(HOSTILE / "ask.py", {"questions": [WHOAMI]}, answer)
    assert told == [{"refused": "The answer is larger than 64 kB. Ask for less."}]


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "{}",
        '{"result":{"runId":"0123","outcome":"executed"}}',
        '{"ended":{"toolCallId":"x"}}',
        '{"done":1,"done":2}',
        "[" * 50_000,
    ],
)
async def test_a_forged_message_is_an_error_of_this_call_alone(strongest: Sandbox, line: str) -> None:
    """T-11: a message names no run, call or person, so there is nothing else to forge."""
    await failure(strongest, "forge", line=line)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("long", "RuntimeError: no no no"),
        ("control", "RuntimeError: a [2J b "),
        ("unspeakable", "Unspeakable"),
        ("exit", "It ended without a result."),
        ("leave", "SystemExit"),
        ("crash", "It ended abruptly (SIGSEGV)."),
    ],
)
async def test_a_bad_end_is_told_in_one_short_sentence(strongest: Sandbox, how: str, told: str) -> None:
    """T-11."""
    message = await failure(strongest, "fail", how=how)
    assert told in message


@pytest.mark.parametrize(
    "what",
    ["nan", "deep", "deeper", "object", "surrogate", "nul", "huge", "long"],
)
async def test_a_result_that_json_or_the_desk_cannot_take_is_refused(strongest: Sandbox, what: str) -> None:
    """T-11."""
    await failure(strongest, "return_it", what=what)


async def test_a_fault_of_the_desk_is_not_the_tool_s(strongest: Sandbox) -> None:
    """T-11: it comes through as it is, after the process is gone."""

    async def answer(_name: str, _params: dict[str, Any]) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await strongest.run(HOSTILE / "ask.py", {"questions": [WHOAMI]}, answer)


async def test_more_calls_than_slots_wait_and_then_give_up() -> None:
    """T-11: every wait has a time-out."""
    narrow = Sandbox(limits=Limits(concurrent=1, queue_s=0.05, wall_s=30))
    asked, free = asyncio.Event(), asyncio.Event()

    async def answer(_name: str, _params: dict[str, Any]) -> Any:
        asked.set()
        await free.wait()

    args = {"questions": [WHOAMI]}
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(narrow.run(HOSTILE / "ask.py", args, answer))
        await asked.wait()
        with pytest.raises(ToolFailed, match="Too many custom tools"):
            await narrow.run(HOSTILE / "ask.py", args, answer)
        free.set()
        assert await first == [{"answered": None}]
