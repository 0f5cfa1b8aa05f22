"""Whether `desk up` starts the systems that the shipped connections point to."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.settings import Settings, load_settings
from app.local.demo_connections import DemoConnections, choose_demo_connections
from app.local.errors import PortInUse


@pytest.fixture(autouse=True)
def _shipped_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder named as the shipped one, no setting of the machine's own, and ports that are free."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "connections").mkdir()
    for name in ("INVENTORY_TOKEN", "NOTIFICATIONS_TOKEN", *(name.upper() for name in Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("app.local.demo_connections.require_free", lambda _host, _port: None)


def test_they_are_started_with_tokens_made_for_this_run() -> None:
    """Issue 6.3: nothing needs to be set."""
    one, other = (choose_demo_connections(load_settings(), local_allowed=True) for _ in range(2))
    assert (one.starts, one.note) == (True, None)
    assert set(one.environment) == {"INVENTORY_TOKEN", "NOTIFICATIONS_TOKEN"}
    assert one.environment["INVENTORY_TOKEN"] != other.environment["INVENTORY_TOKEN"]


def test_tokens_that_are_set_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 6.3: from the environment or `.env`."""
    monkeypatch.setenv("INVENTORY_TOKEN", "mine")
    (tmp_path / ".env").write_text("NOTIFICATIONS_TOKEN=mine too\n")
    chosen = choose_demo_connections(load_settings(), local_allowed=True)
    assert chosen.environment == {"INVENTORY_TOKEN": "mine", "NOTIFICATIONS_TOKEN": "mine too"}


def test_a_busy_port_is_a_line_and_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 6.3: the desk starts all the same."""

    def busy(_host: str, port: int) -> None:
        if port == 8792:
            raise PortInUse(port, None)

    monkeypatch.setattr("app.local.demo_connections.require_free", busy)
    chosen = choose_demo_connections(load_settings(), local_allowed=True)
    assert chosen == DemoConnections(note="Port 8792 is in use: the demo connections are not started.")


def test_connections_of_one_s_own_need_no_demonstration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 6.3, D-19: nor does a desk that may not call this machine."""
    assert choose_demo_connections(load_settings(), local_allowed=False) == DemoConnections()
    monkeypatch.setenv("CONNECTIONS_DIR", str(tmp_path))
    assert choose_demo_connections(load_settings(), local_allowed=True) == DemoConnections()
    monkeypatch.delenv("CONNECTIONS_DIR")
    (tmp_path / "connections").rmdir()
    assert choose_demo_connections(load_settings(), local_allowed=True) == DemoConnections()
