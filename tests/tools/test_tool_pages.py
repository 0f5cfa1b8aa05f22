"""The list of tools with the rules behind each tier; raised by a dispatcher, never lowered (T-1..T-9, T-13, HTTP-5)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.copilot.tool_pages import grouped_tools
from app.tools.gate import CallContext, ProposedCall, decide
from app.tools.listing import ListedTool
from app.tools.policy import Risk, Threshold, Tier, ToolPolicy
from tests.conftest import Server
from tests.tools.reviewed import TOOLS, send_form

AGENTS = "/app/admin/agents"
_OPERATORS_TOOL = """from desk_tool import Arguments, Desk, declare


class Asked(Arguments):
    shelf: str


@declare(name="clean_up", description="Cleans.", risk="bulk", arguments=Asked, exposure="operator-gated")
async def tool(args: Asked, desk: Desk) -> object:
    return "cleaned " + args.shelf
"""


def _row_of(page: str, name: str) -> str:
    """The text of one tool's row."""
    row = next(part for part in page.split('class="card tool-row"')[1:] if f"<h3><code>{name}</code>" in part)
    return " ".join(re.sub(r"<[^>]*>", " ", row.split("</li>\n")[0]).split())


def _tier(page: str, name: str) -> str:
    row = next(part for part in page.split('class="card tool-row"')[1:] if f"<h3><code>{name}</code>" in part)
    return row.split('class="tier tier-')[1].split('"')[0]


async def test_each_tool_stands_there_with_its_tier_and_every_rule(server: Server) -> None:
    """T-1, T-2, T-13: risk in word and level, the tier, each rule with id, reason and source, roles, exposure."""
    page = (await (await server.sign_in_as("dispatcher")).get(TOOLS)).text
    for name in server.desk.tools.registry.names():
        assert f"<h3><code>{name}</code></h3>" in page
    deletion = _row_of(page, "delete_work_order")
    assert "confirm asks the person first" in deletion
    assert "risk destructive (level 4)" in deletion
    assert "T-2 confirm the copilot never changes anything unasked (built in)" in deletion
    assert "Used by dispatcher, technician" in deletion
    assert "Exposure Open" in deletion
    assert "The model sees it" in deletion
    assert _tier(page, "list_my_work_orders") == "auto"
    assert _tier(page, "create_work_order") == "confirm"


async def test_a_raise_is_made_shown_and_audited(server: Server) -> None:
    """T-5, D-20: redirected, shown with its source, told in the audit trail in words."""
    dispatcher = await server.sign_in_as("dispatcher")
    answer = await send_form(dispatcher, f"{TOOLS}/raise", name="list_my_work_orders", tier="confirm")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{TOOLS}?done=raised")
    page = (await dispatcher.get(TOOLS)).text
    assert _tier(page, "list_my_work_orders") == "confirm"
    assert "raised confirm an admin raised it to confirm (raised by an admin)" in _row_of(page, "list_my_work_orders")
    trail = (await dispatcher.get(AGENTS)).text
    assert "raised the tier of a tool" in trail
    assert "list_my_work_orders <del>" in trail
    row = await server.desk.database["agentconfigaudits"].find_one({"action": "tools.raise"})
    assert row is not None
    assert row["agentName"] == "tools"


async def test_a_tier_is_never_lowered(server: Server) -> None:
    """T-1, scenario 4.7: the same or a lower tier is 409 in plain words, page and fragment; only higher are offered."""
    dispatcher = await server.sign_in_as("dispatcher")
    await send_form(dispatcher, f"{TOOLS}/raise", name="get_profile", tier="review")
    for tier, fragment in (("auto", False), ("confirm", True), ("review", True)):
        answer = await send_form(dispatcher, f"{TOOLS}/raise", fragment=fragment, name="get_profile", tier=tier)
        assert answer.status_code == 409
        assert "A tier can be raised, never lowered." in answer.text
        assert _tier(answer.text, "get_profile") == "review"
        assert ("<html" in answer.text) == (not fragment)
    raised = await server.desk.governance.raised_tiers()
    assert [(one.name, one.tier) for one in raised] == [("get_profile", "review")]
    row = (await dispatcher.get(TOOLS)).text.split("<h3><code>get_profile</code>")[1].split("</form>")[0]
    assert re.findall(r'<option value="(\w+)"', row) == ["never"]


async def test_an_unknown_tool_or_tier_is_refused(server: Server) -> None:
    """T-3: 404 for a name that is not registered, 400 for a tier that is none; nothing is on record."""
    dispatcher = await server.sign_in_as("dispatcher")
    assert (await send_form(dispatcher, f"{TOOLS}/raise", name="drop_all", tier="never")).status_code == 404
    assert (await send_form(dispatcher, f"{TOOLS}/raise", name="get_profile", tier="maximum")).status_code == 400
    assert (await send_form(dispatcher, f"{TOOLS}/raise", name="get_profile")).status_code == 400
    assert await server.desk.database["agentconfigaudits"].count_documents({}) == 0


@pytest.mark.parametrize("who", ["owner", "viewer"])
async def test_nobody_else_sees_or_raises(server: Server, who: str) -> None:
    """Scenario 3.7: 403."""
    client = await server.sign_in_as(who)
    assert (await client.get(TOOLS)).status_code == 403
    assert (await send_form(client, f"{TOOLS}/raise", name="get_profile", tier="never")).status_code == 403
    assert (await send_form(client, f"{TOOLS}/run", name="get_profile")).status_code == 403
    assert await server.desk.governance.raised_tiers() == []


async def test_what_is_not_gated_for_operators_does_not_run_from_the_page(server: Server) -> None:
    """T-5: 404 in words; arguments that are not one JSON object are 400."""
    dispatcher = await server.sign_in_as("dispatcher")
    answer = await send_form(dispatcher, f"{TOOLS}/run", fragment=True, name="admin_metrics", arguments="{}")
    assert answer.status_code == 404
    assert "no tool of this name to run from here" in answer.text
    for typed in ("[1]", '{"a": 1, "a": 2}', "{"):
        bad = await send_form(dispatcher, f"{TOOLS}/run", fragment=True, name="admin_metrics", arguments=typed)
        assert bad.status_code == 400
        assert "The arguments are not one JSON object." in bad.text


class TestAnOperatorsTool:
    """With one custom tool that only runs from the page."""

    @pytest.fixture
    def overrides(self, tmp_path: Path) -> dict[str, Any]:
        folder = tmp_path / "custom_tools"
        folder.mkdir()
        (folder / "clean.py").write_text(_OPERATORS_TOOL)
        return {"custom_tools_dir": folder}

    async def test_it_runs_from_the_page_alone_and_is_on_record(self, server: Server) -> None:
        """T-5, D-20: its form is there; answer, refusal and audit row in words, page and fragment."""
        dispatcher = await server.sign_in_as("dispatcher")
        page = (await dispatcher.get(TOOLS)).text
        assert page.count(f'action="{TOOLS}/run"') == 1
        assert "never sees it" in _row_of(page, "clean_up")
        for fragment in (True, False):
            ran = await send_form(
                dispatcher, f"{TOOLS}/run", fragment=fragment, name="clean_up", arguments='{"shelf": "<b>12</b>"}'
            )
            assert ran.status_code == 200
            assert "It answered" in ran.text
            assert "cleaned &lt;b&gt;12&lt;/b&gt;" in ran.text
        wrong = await send_form(dispatcher, f"{TOOLS}/run", fragment=True, name="clean_up", arguments='{"no": 1}')
        assert wrong.status_code == 409
        assert "It answered" not in wrong.text
        trail = (await dispatcher.get(AGENTS)).text
        assert "ran a tool from the operator’s page: <code>clean_up</code>" in trail


def _listed(policy: ToolPolicy) -> ListedTool:
    decision = decide(ProposedCall(), policy, CallContext("copilot", "admin"))
    return ListedTool(policy, "A line.", decision, Tier.AUTO, tuple(tier for tier in Tier if tier > decision.tier))


def test_thresholds_sources_and_what_the_model_never_sees_are_told() -> None:
    """T-5, T-6, T-13: grouped by where the policy stands."""
    source = "connections/inventory/policy.json"
    endpoint = ToolPolicy(
        "POST /reservations", Risk.WRITE, confirm=Tier.CONFIRM, reason="reserves stock", source=source,
        thresholds=(Threshold("body.quantity", 10, Tier.REVIEW),),
    )  # fmt: skip
    gated = ToolPolicy("recount", Risk.WRITE, exposure="operator-gated", llm_callable=False, source="custom_tools/a.py")
    one, two = grouped_tools([_listed(endpoint), _listed(gated)], {"recount"})
    assert (one.title, two.title) == ("Connection: inventory", "Custom tools")
    [reserve], [recount] = one.rows, two.rows
    assert reserve.thresholds == ["body.quantity above 10 → review"]
    assert reserve.proof is not None
    assert ("T-4", "confirm", "reserves stock", source) in [
        (rule.id, rule.tier, rule.reason, rule.source) for rule in reserve.proof.rules
    ]
    assert [tier for tier, _ in reserve.higher] == ["review", "never"]
    assert (recount.model_sees, recount.runnable, recount.exposure) == (False, True, "From the operator’s page only")
