"""The `desk` command, run as a person runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pymongo import MongoClient
from redis import Redis

from app.local.ports import bind

_ROOT = Path(__file__).resolve().parents[2]


def _environment(**settings: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "PYTHONPATH": str(_ROOT), **settings}


def _desk(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs `desk` to its end in `folder`, with no other settings than these."""
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        cwd=folder,
        env=_environment(**settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", ["web", "worker", "up", "seed", "services"])
@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("JWT_SECRET", "tooshort-7391", "JWT_SECRET: must be at least 32 characters and no placeholder"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL: should be 'debug', 'info', 'warning' or 'error'"),
    ],
)
def test_a_bad_setting_is_one_line_and_exit_1(command: str, key: str, value: str, line: str, tmp_path: Path) -> None:
    """Contract, "Environment": one line per fault, never the value of a secret."""
    ended = _desk(tmp_path, command, **{key: value})
    assert ended.returncode == 1
    assert ended.stderr == f"{line}\n"
    assert ended.stdout == ""
    assert value not in ended.stderr


def test_a_provider_address_without_tls_is_one_line_and_exit_1(tmp_path: Path) -> None:
    """003 §11, D-19: AI_BASE_URL is https."""
    ended = _desk(tmp_path, "web", AI_ENABLED="true", AI_BASE_URL="http://models.example", AI_API_KEY="sk-7391")
    assert ended.returncode == 1
    assert ended.stderr.startswith("AI_BASE_URL: must start with https://")
    assert ended.stderr.count("\n") == 1
    assert "sk-7391" not in ended.stderr


def test_several_bad_settings_are_a_line_each(tmp_path: Path) -> None:
    """Contract, "Environment": one line per fault."""
    ended = _desk(tmp_path, "web", JWT_SECRET="tooshort-7391", LOG_LEVEL="loud", PORT="99999")
    assert ended.returncode == 1
    assert sorted(line.split(":")[0] for line in ended.stderr.splitlines()) == ["JWT_SECRET", "LOG_LEVEL", "PORT"]


@pytest.mark.parametrize("command", ["web", "up"])
def test_a_busy_port_is_one_line_and_exit_1(command: str, tmp_path: Path) -> None:
    """Issue 2.4: a busy port is named."""
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        ended = _desk(tmp_path, command, PORT=str(port))
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Port {port} is in use. Stop the other program or set PORT=")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


def test_services_prints_two_addresses_that_answer_and_stops_on_a_signal(tmp_path: Path) -> None:
    """Issue 2.4: `desk services`; stopped with the program."""
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", "services"],
        cwd=tmp_path,
        env=_environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        printed = dict(running.stdout.readline().strip().split("=", 1) for _ in range(2))
        with MongoClient[dict[str, object]](printed["MONGODB_URI"], timeoutMS=5_000) as client:
            assert client.admin.command("ping")["ok"] == 1
        with Redis.from_url(printed["REDIS_URL"], socket_timeout=5) as client:
            assert client.ping()
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    assert list((tmp_path / ".desk").glob("*/state.json")) == []


def test_services_hides_a_password_in_an_address(tmp_path: Path) -> None:
    """SEC-1: no secret in what is printed."""
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", "services"],
        cwd=tmp_path,
        env=_environment(MONGODB_URI="mongodb://me:hunter2@db.example/", REDIS_URL="redis://:hunter2@cache.example/0"),
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline().strip() for _ in range(2)]
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    assert lines == ["MONGODB_URI=mongodb://…@db.example/", "REDIS_URL=redis://…@cache.example/0"]


def test_demo_reset_refuses_a_database_that_is_not_embedded(tmp_path: Path) -> None:
    """Issue 2.1: demo-reset deletes nothing but its own."""
    ended = _desk(tmp_path, "demo-reset", MONGODB_URI="mongodb://db.example")
    assert ended.returncode == 1
    assert ended.stderr == "MONGODB_URI or REDIS_URL is set: demo-reset clears only the embedded data.\n"


def test_help_lists_the_commands(tmp_path: Path) -> None:
    """Issue 2.4: the console script."""
    ended = _desk(tmp_path, "--help")
    assert ended.returncode == 0
    for command in ("up", "web", "worker", "seed", "services", "demo-model", "demo-connections", "local-model"):
        assert f"  {command} " in ended.stdout
    for command in ("demo-reset", "doctor", "audit"):
        assert f"  {command} " in ended.stdout


def test_an_unknown_command_is_refused(tmp_path: Path) -> None:
    """Issue 2.4: the console script."""
    ended = _desk(tmp_path, "upp")
    assert ended.returncode == 2
    assert "No such command" in ended.stderr
