"""The examples of docs/tool-policy.md do what the page says of them (T-4, T-6, T-11, T-15)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from app.tools.connections.policy_file import load_connections
from app.tools.connections.request_arguments import RequestArguments
from app.tools.gate import CallContext, GateDecision, ProposedCall, decide
from app.tools.gatekeeper import Gatekeeper
from app.tools.hook import load_hook
from app.tools.order_writes import DeleteWorkOrder, UpdateWorkOrder
from app.tools.registry import ToolRegistry
from app.tools.sandbox.sandbox import Sandbox
from tests.conftest import Server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tool-policy.md").read_text()
CONTEXT = CallContext("copilot", "user")


def _block(kind: str) -> tuple[str, str]:
    """The name and the text of the page's example of this kind."""
    found = re.search(rf"```\w+ {kind}=(\S+)\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1], found[2]


def _judged(folder: Path, **request: Any) -> GateDecision:
    name, text = _block("connection")
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "policy.json").write_text(text)
    args = RequestArguments.model_validate({"connection": name, "intent": "write"} | request)
    return decide(ProposedCall(args.frozen_args()), load_connections(folder).policy_of(args.request()), CONTEXT)


def _rows() -> list[tuple[str, str, str]]:
    """The page's table of thresholds."""
    table = PAGE.split("| `body.days` | tier | why |")[1].split("\n\n")[0]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines()[2:]]
    return [(days, tier, why) for days, tier, why in rows]


@pytest.mark.parametrize(("days", "tier", "why"), _rows())
def test_the_table_of_thresholds_is_what_the_gate_says(tmp_path: Path, days: str, tier: str, why: str) -> None:
    """T-6"""
    values: dict[str, Any] = {"(absent)": {}, '"4"': {"days": "4"}}
    body = values[days] if days in values else {"days": int(days)}
    decision = _judged(tmp_path, method="POST", path="/bookings", body=body)
    assert decision.tier.word == tier
    if tier != "confirm":
        assert decision.denial == why


def test_the_connection_allows_what_it_lists_and_nothing_else(tmp_path: Path) -> None:
    """T-4, T-9"""
    assert _judged(tmp_path, method="GET", path="/cranes/7", intent="read").tier.word == "auto"
    assert _judged(tmp_path, method="DELETE", path="/bookings/7").tier.word == "review"
    assert _judged(tmp_path, method="DELETE", path="/cranes/7").tier.word == "never"


async def test_the_custom_tool_runs(tmp_path: Path) -> None:
    """T-11"""
    name, text = _block("tool")
    module = tmp_path / name
    module.write_text(text)
    sandbox = Sandbox()
    assert (await sandbox.describe(module)).name == "pipe_volume"
    assert await sandbox.run(module, {"inner_mm": 100, "metres": 10}, _nobody) == {"litres": 78.54}


async def test_the_hook_denies_deletions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    """T-15"""
    name, text = _block("hook")
    (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "house_rules", raising=False)
    gatekeeper = Gatekeeper(ToolRegistry([]), server.desk.governance, load_hook("house_rules:before_call"))
    order = {"id": "0" * 24}
    delete, update = DeleteWorkOrder(server.desk.orders), UpdateWorkOrder(server.desk.orders)
    denied = await gatekeeper.judge(delete, delete.arguments.model_validate(order), CONTEXT)
    asked = await gatekeeper.judge(update, update.arguments.model_validate(order | {"priority": "high"}), CONTEXT)
    assert denied.tier.word == "never"
    assert asked.tier.word == "confirm"


async def _nobody(name: str, _params: dict[str, Any]) -> Any:
    raise AssertionError(f"nothing was to be asked, but {name} was")
