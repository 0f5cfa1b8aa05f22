"""The two demonstration systems as anybody would call them, and `desk demo-connections`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.local.ports import bind, free_port
from app.tools.connections.demo.inventory import PARTS, Inventory
from app.tools.connections.demo.notifications import Notifications
from tests.conftest import serving

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "demo-token-4401"


@pytest.fixture
async def stock() -> AsyncIterator[httpx.AsyncClient]:
    """A client of an inventory of its own."""
    headers = {"Authorization": TOKEN}
    async with (
        serving(Inventory(TOKEN)) as url,
        httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as client,
    ):
        yield client


async def test_stock_can_be_looked_at(stock: httpx.AsyncClient) -> None:
    """Issue 6.3: about a dozen parts of field service."""
    everything = (await stock.get("/api/parts")).json()
    assert len(everything) == len(PARTS) == 12
    found = (await stock.get("/api/parts", params={"search": "pump 230"})).json()
    assert [part["sku"] for part in found] == ["PMP-3110"]
    assert (await stock.get("/api/parts/PMP-2040")).json()["stock"] == 6
    assert (await stock.get("/api/parts/PMP-0000")).status_code == 404


async def test_a_reservation_takes_from_the_stock_once_for_its_key(stock: httpx.AsyncClient) -> None:
    """Issue 6.3, D-5: the system honours `Idempotency-Key`."""
    body = {"sku": "PMP-2040", "quantity": 4, "note": "WO 12"}
    answers = [await stock.post("/api/reservations", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert (await stock.get("/api/parts/PMP-2040")).json()["stock"] == 2
    assert (await stock.post("/api/reservations", json=body)).status_code == 409


@pytest.mark.parametrize(
    "body", [None, [], {}, {"sku": "PMP-2040"}, {"sku": [], "quantity": 1}, {"sku": "PMP-2040", "quantity": True}]
)
async def test_a_reservation_that_makes_no_sense_is_a_400(stock: httpx.AsyncClient, body: Any) -> None:
    """Issue 6.3."""
    assert (await stock.post("/api/reservations", json=body)).status_code == 400


async def test_a_part_can_be_deleted_by_those_who_may(stock: httpx.AsyncClient) -> None:
    """Issue 6.3: the system itself would do it; that it never happens is the policy's doing."""
    assert (await stock.delete("/api/parts/PMP-2040")).status_code == 204
    assert (await stock.get("/api/parts/PMP-2040")).status_code == 404


async def test_without_the_token_nothing_is_told_or_recorded(stock: httpx.AsyncClient) -> None:
    """Issue 6.3."""
    for token in ("", "wrong"):
        assert (await stock.get("/api/parts", headers={"Authorization": token})).status_code == 401
    assert (await stock.get("/health", headers={"Authorization": ""})).json() == {"status": "ok"}
    assert (await stock.get("/other")).status_code == 404
    assert (await stock.post("/api/reservations", content=b"x" * 70_000)).status_code == 400


async def test_the_hook_keeps_messages() -> None:
    """Issue 6.3: the outgoing notification hook."""
    hook = Notifications(TOKEN)
    headers = {"Authorization": TOKEN}
    async with serving(hook) as url, httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as client:
        sent = await client.post("/api/messages", json={"to": "kay@example.com", "text": "The pump is in."})
        assert (sent.status_code, sent.json()["accepted"]) == (202, True)
        assert (await client.post("/api/messages", json={"to": "", "text": "x"})).status_code == 400
        assert (await client.delete("/api/messages")).status_code == 405
        assert (await client.get("/api/messages")).json() == hook.messages
    assert [message["to"] for message in hook.messages] == ["kay@example.com"]
    assert len(await hook.received(4)) == 4


def desk(folder: Path, *arguments: str, **settings: str) -> subprocess.Popen[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "app.cli", "demo-connections", *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_one_command_serves_both_and_ends_on_a_signal(tmp_path: Path) -> None:
    """Issue 6.3: the tokens may stand in `.env`."""
    (tmp_path / ".env").write_text(f"INVENTORY_TOKEN={TOKEN}\nNOTIFICATIONS_TOKEN=hook-{TOKEN}\n")
    one, other = free_port(), free_port()
    with desk(tmp_path, "--inventory-port", str(one), "--notifications-port", str(other)) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == f"inventory: http://127.0.0.1:{one}/api\n"
        with httpx.Client(trust_env=False, timeout=10) as client:
            parts = client.get(f"http://127.0.0.1:{one}/api/parts", headers={"Authorization": TOKEN})
            told = client.get(f"http://127.0.0.1:{other}/api/messages", headers={"Authorization": f"hook-{TOKEN}"})
        assert (parts.status_code, told.status_code) == (200, 200)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0


def test_without_a_token_the_command_says_which(tmp_path: Path) -> None:
    """Issue 6.3: one line, exit 1."""
    with desk(tmp_path, INVENTORY_TOKEN=TOKEN) as running:
        output, _ = running.communicate(timeout=60)
    assert (running.returncode, output.startswith("NOTIFICATIONS_TOKEN: is required")) == (1, True)
    assert TOKEN not in output


def test_a_busy_port_is_named(tmp_path: Path) -> None:
    """Issue 2.4, 6.3."""
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        tokens = {"INVENTORY_TOKEN": TOKEN, "NOTIFICATIONS_TOKEN": TOKEN}
        with desk(tmp_path, "--inventory-port", str(port), **tokens) as running:
            output, _ = running.communicate(timeout=60)
    assert (running.returncode, str(port) in output) == (1, True)
