"""Content goes after 90 days, the record of it stays a year (SEC-12, D-28)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bson import ObjectId

from app.core.mongo import Database
from app.desk import Desk, open_desk
from app.runs.retention import drop_older_ttl
from tests.triage.house import House, propose

_KEPT = ("tool", "outcome", "argsHash", "executedHash", "decision", "approval", "latencyMs")
_GONE = ("args", "result", "preImage", "afterDiff")


def _call(house: House, days: int, **changes: Any) -> dict[str, Any]:
    at = house.clock.now() - timedelta(days=days)
    return {
        "_id": ObjectId(),
        "runId": ObjectId(),
        "tool": "update_work_order",
        "args": {"title": "Secret words"},
        "result": "Secret words",
        "preImage": {"title": "Secret words"},
        "afterDiff": {"title": "Secret words"},
        "outcome": "executed",
        "argsHash": "a" * 64,
        "executedHash": "a" * 64,
        "decision": {"tier": "confirm", "rules": []},
        "approval": {"status": "approved", "summary": "x", "expiresAt": at, "decidedBy": "u", "decidedAt": at},
        "latencyMs": 3,
        "createdAt": at,
        "updatedAt": at,
    } | changes


async def test_old_calls_keep_hashes_decision_and_proof_and_lose_what_was_in_them(house: House) -> None:
    """D-28: only at 90 days, only at their end, an older desk's rows included."""
    old, young = _call(house, 91), _call(house, 89)
    approved = _call(house, 91, outcome="approved")
    older_desk = {name: value for name, value in _call(house, 200).items() if name not in ("argsHash", "decision")}
    await house.database["agenttoolcalls"].insert_many([old, young, approved, older_desk])
    assert await house.desk.retention.sweep() == 2
    rows = {row["_id"]: row for row in await house.calls()}
    assert rows[old["_id"]] == {name: value for name, value in old.items() if name not in _GONE}
    assert rows[young["_id"]] == young
    assert rows[approved["_id"]] == approved
    assert not set(_GONE) & set(rows[older_desk["_id"]])
    assert await house.desk.retention.sweep() == 0
    house.later(days=2)
    assert await house.desk.retention.sweep() == 1


async def test_an_old_run_loses_its_transcript_and_is_still_shown(house: House) -> None:
    """D-28, SEC-12: outcome, tokens and cost stay; the pages bear what is gone."""
    house.model.add(propose())
    await house.order()
    await house.triage.claim_and_run()
    (run,) = await house.runs()
    assert run["transcript"]
    house.later(days=91)
    assert await house.desk.retention.sweep() == 2
    (run,) = await house.runs()
    assert "transcript" not in run
    assert (run["status"], run["inputTokens"] > 0) == ("complete", True)
    viewed = await house.desk.triage.admin_runs.view(await house.actor("dispatcher"), run["_id"])
    assert [call.args for call in viewed.detail.tool_calls] == [None]


async def test_an_older_desk_s_ttl_on_calls_is_dropped_when_the_desk_opens(desk: Desk, database: Database) -> None:
    """D-28: calls would go whole at 90 days; the desk's own index stays, and so does a row that is over its time."""
    calls = database["agenttoolcalls"]
    await calls.create_index("expiresAt", expireAfterSeconds=0, name="expiresAt_1")
    async with open_desk(desk.settings, desk.clock):
        names = set(await calls.index_information())
    assert "expiresAt_1" not in names
    assert {"kept_one_year", "of_run"} <= names
    assert await drop_older_ttl(database) == 0
