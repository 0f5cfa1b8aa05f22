"""Clients of the original desk keep working: every recorded exchange, in order, against the real program."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.llm.demo.script import Step, call, say
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import Server
from tests.wire.replay import Replay, exchanges

SEEDED = {
    "admin": ("Seed Admin", "Admin1234"),
    "user": ("Seed User", "User1234"),
    "viewer": ("Read-only Viewer", "Viewer1234"),
}
USAGE = (11, 7)
PROPOSAL = {"summary": "Pump leaks at the flange", "suggestedPriority": "high", "flagForDispatcher": True}


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"ai_model": "gpt-4o-mini"}


def _model_answers(note: str, order: str) -> list[Step]:
    """What the model answered in that exchange of the recording."""
    moment: dict[str, Any] = {"text": "One moment. ", "usage": USAGE}
    listing = call("list_my_work_orders", **moment)
    answers: dict[str, list[Step]] = {
        "plain answer": [say("Hello there. ", usage=USAGE)],
        "approved update": [
            listing,
            call("update_work_order", {"id": order, "priority": "medium"}, **moment),
            say("Changed. ", usage=USAGE),
        ],
        "rejected deletion": [
            listing,
            call("delete_work_order", {"id": order}, **moment),
            say("Kept it. ", usage=USAGE),
        ],
        "approved creation": [
            call("create_work_order", {"title": "Order new seal"}, **moment),
            say("Created. ", usage=USAGE),
        ],
        "unseen id": [
            call("update_work_order", {"id": order, "priority": "low"}, **moment),
            say("I could not. ", usage=USAGE),
        ],
        "tool beyond the role": [call("admin_metrics", **moment), say("No. ", usage=USAGE)],
        "malformed arguments": [call("list_my_work_orders", "{oops", **moment), say("Sorry. ", usage=USAGE)],
        "manual triage": [say(json.dumps(PROPOSAL), usage=USAGE)],
    }
    return answers.get(note, [])


async def test_every_recorded_exchange_is_answered_as_it_was(server: Server, model: ScriptedModel) -> None:
    """HTTP-2, HTTP-3, HTTP-7, AUTH-1..9, PROFILE-1..3, WO-1, WO-3..8, WO-10, ADM-1..5, COP-1..3, AGT-3, AGT-7,
    SEC-14, D-6, D-21, D-23, D-30: statuses, codes, fields and cookies as recorded, but for the known differences.
    """
    for role, (name, password) in SEEDED.items():
        await server.desk.accounts.accounts.ensure_user(f"{role}@example.com", password, name, role)  # type: ignore[arg-type]
    replay = Replay(server.client)
    recorded = exchanges()
    for exchange in recorded:
        model.add(*_model_answers(exchange["note"], replay.ids.get("<order>", "")))
        await replay.play(exchange)
        assert model.pending == 0, exchange["note"]
    assert len(recorded) == 106
