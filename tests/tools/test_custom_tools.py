"""Custom tools in the desk: offered, judged, asked about, run as the caller and nobody else (T-5, T-7, T-11, T-15)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.core.errors import Conflict, Forbidden, NotFound
from app.core.settings import Settings, SettingsError
from app.desk import open_desk
from app.llm.demo.script import call, say
from app.llm.demo.scripted_model import ScriptedModel
from app.tools.policy import Tier
from tests.conftest import CAST, Server
from tests.copilot.stage import results, turn
from tests.copilot.talk import decide, make_order, open_session, say_to

SHIPPED = Path(__file__).resolve().parents[2] / "custom_tools"

_HEAD = "from desk_tool import Arguments, Desk, declare\n\n\nclass Asked(Arguments):\n    id: str = ''\n\n\n"
_TOOL = """@declare(name="{name}", description="A tool of this test.", risk="{risk}", arguments=Asked, {more})
async def tool(args: Asked, desk: Desk) -> object:
    {body}
"""


def _module(name: str, body: str, risk: str = "read", more: str = "") -> str:
    return _HEAD + _TOOL.format(name=name, risk=risk, more=more, body=body)


MODULES = {
    "ask_order.py": _module("ask_order", "return await desk.get_order(args.id)"),
    "who.py": _module("who_asks", "return await desk.whoami()", more='exposure="requires-confirmation"'),
    "clean.py": _module("clean_up", "return await desk.whoami()", risk="bulk", more='exposure="operator-gated"'),
    "hidden.py": _module("hidden_tool", "return 1", more="llm_callable=False"),
    "novel.py": _module("novel_tool", "return 1", risk="unknown"),
}


@pytest.fixture
def overrides(tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "custom_tools"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / name).write_text(text)
    (folder / "open_work_summary.py").write_text((SHIPPED / "open_work_summary.py").read_text())
    return {"custom_tools_dir": folder}


@pytest.fixture
async def owner(server: Server) -> httpx.AsyncClient:
    return await server.sign_in_as("owner")


async def test_the_model_is_offered_what_it_may_call(owner: httpx.AsyncClient, model: ScriptedModel) -> None:
    """T-5, T-11: neither the operator's nor the hidden ones, and the schema is the module's own"""
    await turn(owner, model, say("Hello."))
    offered = {tool["function"]["name"]: tool["function"] for tool in model.requests[0]["tools"]}
    assert {"ask_order", "who_asks", "novel_tool", "open_work_summary"} <= set(offered)
    assert not {"clean_up", "hidden_tool"} & set(offered)
    assert "priority" in offered["open_work_summary"]["parameters"]["properties"]


async def test_a_tool_sees_the_orders_of_its_caller_only(
    server: Server, owner: httpx.AsyncClient, model: ScriptedModel
) -> None:
    """T-11: also a dispatcher's tool does not see another person's order"""
    await make_order(owner, title="Mine")
    strange = await make_order(await server.sign_in_as("stranger"), title="Not mine")
    dispatcher = await server.sign_in_as("dispatcher")
    summary = await turn(owner, model, call("open_work_summary", {}), say("One."))
    assert json.loads(summary.named("tool_result")[0].data["result"])["longestWaiting"]["title"] == "Mine"
    for client in (owner, dispatcher):
        stream = await turn(client, model, call("ask_order", {"id": strange["id"]}), say("No."))
        assert results(stream) == [("error", "TOOL_FAILED")]
        assert "Not mine" not in json.dumps([event.data for event in stream.heard])


async def test_what_asks_for_confirmation_runs_after_it(owner: httpx.AsyncClient, model: ScriptedModel) -> None:
    """T-5: with its arguments as its own model takes them"""
    model.add(call("who_asks", {}), say("You."))
    async with say_to(owner, await open_session(owner), "who am I") as stream:
        asked = (await stream.until("tool_approval_required")).data
        assert asked["args"] == {"id": ""}
        assert asked["tier"] == "confirm"
        assert (await decide(owner, asked["toolCallId"], approve=True)).status_code == 200
        await stream.to_the_end()
    outcome = stream.named("tool_result")[0].data
    assert outcome["outcome"] == "executed"
    assert json.loads(outcome["result"]) == {"name": CAST["owner"][2], "role": "user"}


async def test_a_tool_without_a_class_waits_for_review_and_runs_from_there(
    server: Server, owner: httpx.AsyncClient, model: ScriptedModel
) -> None:
    """T-3, T-8, T-11"""
    stream = await turn(owner, model, call("novel_tool", {}), say("A dispatcher decides."))
    assert results(stream) == [("error", "POLICY_REVIEW")]
    dispatcher = (await server.person("dispatcher")).actor
    (row,) = await server.desk.tools.reviews.waiting(dispatcher)
    done = await server.desk.copilot.reviewing.run(dispatcher, row.id, row.args_hash)
    assert done.status == "run"
    with pytest.raises(Conflict):
        await server.desk.copilot.reviewing.run(dispatcher, row.id, row.args_hash)


async def test_the_operators_tool_runs_from_the_page_only_and_is_on_record(
    server: Server, owner: httpx.AsyncClient, model: ScriptedModel
) -> None:
    """T-5, D-20"""
    stream = await turn(owner, model, call("clean_up", {}), say("No."))
    assert [outcome for outcome, _ in results(stream)] == ["error"]
    dispatcher, person = (await server.person("dispatcher")).actor, (await server.person("owner")).actor
    operating = server.desk.tools.operating
    assert json.loads(await operating.run(dispatcher, "clean_up", {}))["role"] == "admin"
    with pytest.raises(Forbidden):
        await operating.run(person, "clean_up", {})
    with pytest.raises(NotFound):
        await operating.run(dispatcher, "who_asks", {})
    rows = (await server.desk.audit.page(dispatcher, 1, 10)).items
    assert [row.action for row in rows].count("tools.run") == 1


async def test_what_an_admin_raised_binds_a_tool_s_own_questions_too(
    server: Server, owner: httpx.AsyncClient, model: ScriptedModel
) -> None:
    """T-15, scenario 4.6: the gate judges the tool's question as a call of another agent"""
    dispatcher = (await server.person("dispatcher")).actor
    await server.desk.tools.listing.raise_to(dispatcher, "list_my_work_orders", Tier.NEVER)
    stream = await turn(owner, model, call("open_work_summary", {}), say("No."))
    assert results(stream) == [("error", "TOOL_FAILED")]
    assert "may not do this by itself" in stream.named("tool_result")[0].data["result"]["message"]


async def test_a_module_that_changes_while_the_desk_runs_is_refused(
    owner: httpx.AsyncClient, model: ScriptedModel, settings: Settings
) -> None:
    """T-11, D-8: what was described and judged is what runs"""
    (settings.custom_tools_dir / "ask_order.py").write_text(_module("ask_order", "return 'something else'"))
    stream = await turn(owner, model, call("ask_order", {}), say("No."))
    assert results(stream) == [("error", "TOOL_FAULT")]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("broken.py", "def broken(:\n", "broken.py:1"),
        ("twice.py", _module("ask_order", "return 1"), "is there already"),
        ("taken.py", _module("update_work_order", "return 1"), "is there already"),
    ],
)
async def test_a_bad_module_keeps_the_desk_from_starting(
    settings: Settings, database: object, name: str, text: str, told: str
) -> None:
    """T-11: with its file, its line, and what to change"""
    (settings.custom_tools_dir / name).write_text(text)
    with pytest.raises(SettingsError, match=told):
        async with open_desk(settings):
            raise AssertionError("it started")
