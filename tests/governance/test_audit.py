"""The audit chain: nothing is lost, nothing is changed unseen (D-20, SEC-13)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bson import ObjectId
from pydantic import SecretStr

from app.accounts.actors import Actor, HumanActor, SystemActor
from app.core.errors import Forbidden
from app.core.settings import Settings
from app.desk import Desk
from app.governance.audit_repository import AuditRepository
from app.governance.chain import GENESIS
from app.governance.schemas import PolicyChange
from app.governance.service import GovernanceService
from tests.conftest import Server

ADMIN = HumanActor(ObjectId(), "admin")
KEY = "k" * 40
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"audit_key": SecretStr(KEY)}


async def _change(desk: Desk, cap: int) -> None:
    await desk.governance.change_policy(ADMIN, PolicyChange.model_validate({"dailyActionCap": cap}))


async def _rows(desk: Desk) -> list[dict[str, Any]]:
    return [row async for row in desk.database["agentconfigaudits"].find().sort("seq", 1)]


async def test_each_change_and_each_view_is_a_row_that_follows_the_one_before(desk: Desk) -> None:
    """SEC-13, D-20: who, what, before and after, and the HMAC of the row before."""
    await _change(desk, 5)
    await desk.governance.switch(ADMIN, "triage", on=False)
    run_id = str(ObjectId())
    assert await desk.audit.transcript_viewed(ADMIN, "triage", run_id) == 3
    first, second, third = await _rows(desk)
    assert [first["action"], second["action"], third["action"]] == [
        "config.update",
        "config.disable",
        "transcript.view",
    ]
    assert (first["before"]["dailyActionCap"], first["after"]["dailyActionCap"]) == (200, 5)
    assert (second["before"]["enabled"], second["after"]["enabled"]) == (True, False)
    assert third["after"] == {"runId": run_id}
    assert {row["actorId"] for row in (first, second, third)} == {str(ADMIN.id)}
    assert [first["prev"], second["prev"], third["prev"]] == [GENESIS, first["hmac"], second["hmac"]]
    verified = await desk.audit.verify()
    assert (verified.rows, verified.head, verified.fault) == (3, third["hmac"], None)


async def test_what_changes_nothing_leaves_no_row_and_moves_no_time(desk: Desk) -> None:
    """D-18, D-20: switched off twice, it is off since the first time."""
    once = await desk.governance.switch(ADMIN, "triage", on=False)
    again = await desk.governance.switch(HumanActor(ObjectId(), "admin"), "triage", on=False)
    assert (again.switched_at, again.switched_by) == (once.switched_at, str(ADMIN.id))
    assert len(await _rows(desk)) == 1


@pytest.mark.parametrize(
    ("seq", "change", "fault"),
    [
        (2, {"$set": {"after.dailyActionCap": 9_999}}, "row 2 was changed after it was written"),
        (3, {"$set": {"actorId": "0" * 24}}, "row 3 was changed after it was written"),
        (1, {"$set": {"note": "added"}}, "row 1 was changed after it was written"),
        (1, {"$unset": {"before": ""}}, "row 1 was changed after it was written"),
        (4, {"$set": {"after.when": ObjectId()}}, "row 4 was changed after it was written"),
        (2, {"$unset": {"seq": ""}}, "row 2 is missing"),
    ],
)
async def test_a_tampered_row_is_named(desk: Desk, seq: int, change: dict[str, Any], fault: str) -> None:
    """D-20: any field of any row."""
    for cap in range(4):
        await _change(desk, cap)
    await desk.database["agentconfigaudits"].update_one({"seq": seq}, change)
    assert (await desk.audit.verify()).fault == fault


async def test_a_deleted_row_and_a_cut_tail_are_named(desk: Desk) -> None:
    """D-20: a row in the middle by itself, the tail against a head that was kept elsewhere."""
    for cap in range(4):
        await _change(desk, cap)
    head = (await desk.audit.verify()).head
    assert (await desk.audit.verify(head)).fault is None
    await desk.database["agentconfigaudits"].delete_one({"seq": 4})
    assert (await desk.audit.verify()).fault is None
    fault = (await desk.audit.verify(head)).fault
    assert fault is not None
    assert fault.startswith("row 4 is missing")
    await desk.database["agentconfigaudits"].delete_one({"seq": 2})
    assert (await desk.audit.verify()).fault == "row 2 is missing"


async def test_a_row_written_without_the_key_does_not_pass(desk: Desk) -> None:
    """D-20: whoever can write to the database alone cannot continue the chain."""
    await _change(desk, 1)
    (row,) = await _rows(desk)
    forged = row | {"_id": ObjectId(), "seq": 2, "prev": row["hmac"]}
    await desk.database["agentconfigaudits"].insert_one(forged)
    assert (await desk.audit.verify()).fault == "row 2 was changed after it was written"


async def test_rows_of_an_older_desk_precede_the_chain_and_are_shown(server: Server) -> None:
    """DATA-2, D-20."""
    old = {"agentName": "triage", "actorId": "0" * 24, "action": "config.update", "before": {"mode": "suggest"}}
    made = server.clock.now()
    await server.desk.database["agentconfigaudits"].insert_one(old | {"after": {"mode": "x"}, "createdAt": made})
    dispatcher = await server.sign_in_as("dispatcher")
    await dispatcher.patch("/api/v1/admin/agents/triage/config", json={"dailyActionCap": 7})
    data = (await dispatcher.get("/api/v1/admin/agents/audit")).json()["data"]
    assert (data["total"], [row.get("seq") for row in data["items"]]) == (2, [1, None])
    assert data["items"][0]["after"]["dailyActionCap"] == 7
    assert (await server.desk.audit.verify()).rows == 1


@pytest.mark.parametrize("actor", [SystemActor(), HumanActor(ObjectId(), "user"), HumanActor(ObjectId(), "viewer")])
async def test_only_a_dispatcher_reads_the_trail(desk: Desk, actor: Actor) -> None:
    """SEC-13, SEC-6."""
    with pytest.raises(Forbidden):
        await desk.audit.page(actor, 1, 20)
    with pytest.raises(Forbidden):
        await desk.audit.transcript_viewed(actor, "triage", str(ObjectId()))
    assert not await _rows(desk)


class CrashesBeforeItsRow(AuditRepository):
    """The process dies between the change and its audit row."""

    async def insert(self, row: dict[str, Any]) -> bool:
        raise ConnectionResetError


async def test_a_crash_between_change_and_row_loses_no_row(desk: Desk, settings: Settings) -> None:
    """D-20: the change carries its row; the next reader writes it, once, before any later one."""
    from app.governance.audit import AuditLog
    from app.governance.repository import GovernanceRepository

    log = AuditLog(CrashesBeforeItsRow(desk.database), desk.clock, KEY)
    dying = GovernanceService(GovernanceRepository(desk.database), log, desk.clock, settings)
    with pytest.raises(ConnectionResetError):
        await dying.change_policy(ADMIN, PolicyChange.model_validate({"dailyActionCap": 3}))
    assert not await _rows(desk)
    read = await asyncio.gather(*(desk.governance.triage_policy() for _ in range(5)))
    assert {policy.daily_action_cap for policy in read} == {3}
    (row,) = await _rows(desk)
    assert (row["before"]["dailyActionCap"], row["after"]["dailyActionCap"]) == (200, 3)
    await _change(desk, 4)
    assert [row["after"]["dailyActionCap"] for row in await _rows(desk)] == [3, 4]
    assert (await desk.audit.verify()).fault is None
    assert (await desk.governance.triage_policy()).pending_audit is None


_CHANGES = """
import asyncio, sys
from bson import ObjectId
from app.accounts.actors import HumanActor
from app.core.settings import load_settings
from app.desk import open_desk
from app.governance.schemas import PolicyChange

async def main():
    admin = HumanActor(ObjectId(), "admin")
    async with open_desk(load_settings(_env_file=None)) as desk:
        for cap in range(int(sys.argv[1]), int(sys.argv[1]) + 15):
            change = PolicyChange.model_validate({"dailyActionCap": cap})
            await asyncio.gather(
                desk.governance.change_policy(admin, change),
                desk.audit.transcript_viewed(admin, "triage", str(ObjectId())),
            )

asyncio.run(main())
"""


async def test_two_processes_that_change_at_once_make_one_chain(desk: Desk, settings: Settings, tmp_path: Path) -> None:
    """D-20: the loser of a race for a number takes the next; each change's before is the after of the one before."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
        "PYTHONPATH": str(ROOT),
        "APP_ENV": "test",
        "MONGODB_URI": settings.mongodb_uri,
        "MONGODB_DB": settings.mongodb_db,
        "REDIS_URL": settings.redis_url,
        "AUDIT_KEY": KEY,
        "DESK_DIR": str(tmp_path / "other"),
    }

    async def run(start: str) -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _CHANGES, start, env=environment, cwd=tmp_path
        )
        return await asyncio.wait_for(process.wait(), 60)

    assert await asyncio.gather(*map(run, ("1000", "2000"))) == [0, 0]
    rows = await _rows(desk)
    assert [row["seq"] for row in rows] == list(range(1, 61))
    changes = [row for row in rows if row["action"] == "config.update"]
    caps = [row["after"]["dailyActionCap"] for row in changes]
    assert [row["before"]["dailyActionCap"] for row in changes] == [200, *caps[:-1]]
    assert sorted(caps) == [*range(1000, 1015), *range(2000, 2015)]
    assert (await desk.audit.verify()).fault is None


async def test_the_command_names_the_broken_row_and_exits_with_1(
    desk: Desk, settings: Settings, tmp_path: Path
) -> None:
    """D-20: `desk audit verify [--head <hash>]`."""
    for cap in range(3):
        await _change(desk, cap)
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
        "PYTHONPATH": str(ROOT),
        "APP_ENV": "test",
        "MONGODB_URI": settings.mongodb_uri,
        "MONGODB_DB": settings.mongodb_db,
        "REDIS_URL": settings.redis_url,
        "AUDIT_KEY": KEY,
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "app.cli", "audit", "verify", *arguments]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    good = await asyncio.to_thread(run)
    head = (await desk.audit.verify()).head
    assert (good.returncode, good.stdout) == (0, f"3 rows hold\nhead {head}\n")
    await desk.database["agentconfigaudits"].delete_one({"seq": 3})
    cut = await asyncio.to_thread(run, "--head", head)
    assert (cut.returncode, "row 3 is missing" in cut.stderr) == (1, True)
    await desk.database["agentconfigaudits"].update_one({"seq": 1}, {"$set": {"action": "config.enable"}})
    tampered = await asyncio.to_thread(run)
    assert (tampered.returncode, tampered.stderr) == (1, "BROKEN: row 1 was changed after it was written\n")
