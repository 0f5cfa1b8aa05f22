"""The stand-in for MongoDB on macOS and Linux arm64, kept honest here: the main story runs against it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from app.core.settings import Settings, load_settings
from app.desk import Desk, open_desk
from app.llm.demo.scripted_model import ScriptedModel
from app.local.errors import LocalServiceError
from app.local.secantus import NOTICE
from app.local.services import clear_data, start_services
from app.main import create_app
from tests.conftest import Stores, serving
from tests.copilot.talk import decide, make_order, open_session, say_to


def _no_mongod() -> Path:
    raise LocalServiceError("MongoDB was not found.")


@pytest.fixture
def stand_in(tmp_path: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the stand-in, which is used because there is no `mongod`."""
    monkeypatch.setattr("app.local.services.find_mongod", _no_mongod)
    with start_services(tmp_path, redis_url=stores.redis_url) as services:
        yield services.mongodb_uri


@pytest.fixture
def settings(stand_in: str, stores: Stores, model: ScriptedModel, tmp_path: Path) -> Settings:
    return load_settings(
        _env_file=None,
        app_env="test",
        mongodb_uri=stand_in,
        mongodb_db=f"{stores.database}_stand_in"[:38],
        redis_url=stores.redis_url,
        desk_dir=tmp_path / "desk",
        ai_enabled=True,
        ai_allow_local_provider=True,
        ai_base_url=model.base_url,
        log_level="warning",
    )


async def _registered(client: httpx.AsyncClient) -> None:
    account = {"email": "rosa@example.com", "password": "Passw0rd1", "name": "Rosa Lind"}
    assert (await client.post("/api/v1/auth/register", json=account)).status_code == 201
    assert (await client.post("/api/v1/auth/logout")).status_code == 204
    assert (await client.get("/api/v1/users/me")).status_code == 401
    login = await client.post("/api/v1/auth/login", json={"email": account["email"], "password": account["password"]})
    assert login.status_code == 200, login.text


async def _changed_by_hand(client: httpx.AsyncClient) -> None:
    order = await make_order(client, priority="low")
    path = f"/api/v1/work-orders/{order['id']}"
    found = (await client.get("/api/v1/work-orders", params={"search": "FLANGE"})).json()["data"]["items"]
    assert [one["id"] for one in found] == [order["id"]]
    edits = [client.patch(path, json={"version": 1, "title": f"Pump {number}"}) for number in range(10)]
    statuses = [answer.status_code for answer in await asyncio.gather(*edits)]
    assert sorted(statuses) == [200] + [409] * 9
    assert (await client.request("DELETE", path, json={"version": 1})).status_code == 409
    assert (await client.request("DELETE", path, json={"version": 2})).status_code == 204
    assert (await client.get(path)).status_code == 404


async def _changed_by_the_copilot(client: httpx.AsyncClient) -> str:
    order = await make_order(client, priority="low")
    session = await open_session(client)
    async with say_to(client, session, "raise the priority of the pump order to high") as stream:
        asked = (await stream.until("tool_approval_required")).data
        assert (await decide(client, asked["toolCallId"], approve=True)).status_code == 200
        events = await stream.to_the_end()
    assert events[-1].name == "message_done"
    after = (await client.get(f"/api/v1/work-orders/{order['id']}")).json()["data"]
    assert (after["priority"], after["version"]) == ("high", 2)
    return str(order["id"])


async def test_the_main_story_runs_on_the_stand_in(settings: Settings) -> None:
    """AUTH-1, AUTH-2, WO-3..8, COP-3, D-5, AGT-2, AGT-4: people, orders, a conflict, an approval, a triage pass."""
    opened: list[Desk] = []

    @asynccontextmanager
    async def opener(given: Settings) -> AsyncIterator[Desk]:
        async with open_desk(given) as desk:
            opened.append(desk)
            yield desk

    async with (
        serving(create_app(settings, opener)) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client,
    ):
        await _registered(client)
        await _changed_by_hand(client)
        order_id = await _changed_by_the_copilot(client)
        page = await client.get("/app/work-orders")
        assert page.status_code == 200
        assert order_id in page.text
        event = await opened[0].database["outboxevents"].find_one({"payloadRef": order_id})
        assert event is not None
        assert event["status"] == "pending"
        assert (await opened[0].triage.triage.claim_and_run()).done == 1
        found = (await client.get(f"/api/v1/work-orders/{order_id}/suggestions")).json()["data"]
        assert len(found) == 1, json.dumps(found)


def test_it_keeps_its_data_and_is_shared_and_cleared_like_mongodb(
    tmp_path: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 3.10: a stand-in for MongoDB, started like the others; it says that it is one."""
    monkeypatch.setattr("app.local.services.find_mongod", _no_mongod)
    with start_services(tmp_path, redis_url=stores.redis_url) as one:
        assert NOTICE in capsys.readouterr().err
        with start_services(tmp_path, redis_url=stores.redis_url) as other:
            assert other.mongodb_uri == one.mongodb_uri
        with pytest.raises(LocalServiceError, match="The desk is running"):
            clear_data(tmp_path)
    assert (tmp_path / "secantus" / "data").is_dir()
    clear_data(tmp_path)
    assert not (tmp_path / "secantus" / "data").exists()
