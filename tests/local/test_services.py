"""The embedded MongoDB and Valkey, with the real servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pymongo import MongoClient
from redis import Redis

from app.local.errors import LocalServiceError
from app.local.mongo import Mongo
from app.local.processes import is_running_with
from app.local.services import Services, clear_data, start_services

_OWNER = """
import sys, threading
from pathlib import Path
from app.local.services import start_services
services = start_services(Path(sys.argv[1]))
print(services.mongodb_uri, services.redis_url, flush=True)
threading.Event().wait()
"""


def _write(services: Services, value: str) -> None:
    with MongoClient[dict[str, str]](services.mongodb_uri, timeoutMS=5_000) as client:
        client.desk.notes.insert_one({"text": value})


def _notes(services: Services) -> list[str]:
    with MongoClient[dict[str, str]](services.mongodb_uri, timeoutMS=5_000) as client:
        return [note["text"] for note in client.desk.notes.find()]


def _ping(services: Services) -> bool:
    with Redis.from_url(services.redis_url, socket_timeout=5) as client:
        return bool(client.ping())


def _pids(desk_dir: Path) -> dict[str, int]:
    """The process ids by folder, as the desk itself recorded them."""
    return {path.parent.name: json.loads(path.read_text())["pid"] for path in desk_dir.glob("*/state.json")}


def _runs(desk_dir: Path, name: str, pid: int) -> bool:
    return is_running_with(pid, str(desk_dir / name / "data"))


def test_both_services_answer_and_are_gone_after_the_stop(tmp_path: Path) -> None:
    """Issue 2.3: real services under the desk's folder, stopped with the program."""
    with start_services(tmp_path) as services:
        _write(services, "kept")
        assert _ping(services)
        pids = _pids(tmp_path)
        assert all(_runs(tmp_path, name, pid) for name, pid in pids.items())
    assert set(pids) == {"mongo", "valkey"}
    assert not any(_runs(tmp_path, name, pid) for name, pid in pids.items())
    assert _pids(tmp_path) == {}


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    """Issue 2.3: data lies under the desk's folder."""
    with start_services(tmp_path) as services:
        _write(services, "kept")
    with start_services(tmp_path) as services:
        assert _notes(services) == ["kept"]


def test_a_second_start_on_the_same_folder_uses_the_same_servers(tmp_path: Path) -> None:
    """Issue 2.3: reused if already running, never two on one folder; the last user ends them."""
    first = start_services(tmp_path)
    second = start_services(tmp_path)
    assert (second.mongodb_uri, second.redis_url) == (first.mongodb_uri, first.redis_url)
    first.stop()
    assert _ping(second)
    _write(second, "still here")
    pids = _pids(tmp_path)
    second.stop()
    assert not any(_runs(tmp_path, name, pid) for name, pid in pids.items())


def test_servers_of_a_killed_owner_are_adopted_and_ended_by_the_next_start(tmp_path: Path) -> None:
    """Issue 2.3: kill -9 of the program leaves no server for ever."""
    with subprocess.Popen([sys.executable, "-c", _OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        addresses = owner.stdout.readline().split()
        os.kill(owner.pid, signal.SIGKILL)
    orphans = _pids(tmp_path)
    outlived = [_runs(tmp_path, name, pid) for name, pid in orphans.items()]

    with start_services(tmp_path) as services:
        assert outlived == [True, True]
        assert [services.mongodb_uri, services.redis_url] == addresses
        assert _pids(tmp_path) == orphans
    assert not any(_runs(tmp_path, name, pid) for name, pid in orphans.items())


def test_a_recorded_port_that_serves_another_folder_is_not_taken_for_ours(tmp_path: Path) -> None:
    """Issue 2.3: whether what answers is ours is asked of the server itself."""
    with start_services(tmp_path / "one") as one, start_services(tmp_path / "two", mongodb_uri="mongodb://given"):
        port = int(one.redis_url.rsplit(":", 1)[1].split("/")[0])
        stale = tmp_path / "three" / "valkey"
        stale.mkdir(parents=True)
        (stale / "state.json").write_text(json.dumps({"port": port, "pid": os.getpid()}))
        with start_services(tmp_path / "three", mongodb_uri="mongodb://given") as three:
            assert three.redis_url != one.redis_url
        assert _ping(one)


def test_given_addresses_are_used_as_they_are_and_nothing_is_started(tmp_path: Path) -> None:
    """Issue 2.3: MONGODB_URI and REDIS_URL come first."""
    with start_services(tmp_path, mongodb_uri="mongodb://db.example", redis_url="redis://cache.example") as services:
        assert services.environment == {"MONGODB_URI": "mongodb://db.example", "REDIS_URL": "redis://cache.example"}
    assert list(tmp_path.iterdir()) == []


def test_ephemeral_data_is_gone_after_the_stop(tmp_path: Path) -> None:
    """Issue 2.3: tests leave nothing behind."""
    with start_services(tmp_path, ephemeral=True) as services:
        _write(services, "gone")
    assert not (tmp_path / "mongo" / "data").exists()


def test_clearing_deletes_the_data_of_a_stopped_desk_only(tmp_path: Path) -> None:
    """Issue 2.1: demo-reset stops nothing that is not its own."""
    with start_services(tmp_path) as services:
        _write(services, "in use")
        with pytest.raises(LocalServiceError, match="The desk is running"):
            clear_data(tmp_path)
        assert _notes(services) == ["in use"]
    clear_data(tmp_path)
    with start_services(tmp_path) as services:
        assert _notes(services) == []


def test_a_failed_start_of_one_service_stops_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 2.3: nothing is left running by a start that failed."""
    monkeypatch.setattr("app.local.valkey.find_valkey", lambda: tmp_path / "missing")
    pids: dict[str, int] = {}
    start = Mongo.address

    def note(kind: Mongo, port: int) -> str:
        pids.update(_pids(tmp_path))
        return start(kind, port)

    monkeypatch.setattr(Mongo, "address", note)
    with pytest.raises(LocalServiceError, match="cannot be run"):
        start_services(tmp_path)
    assert not _runs(tmp_path, "mongo", pids["mongo"])
