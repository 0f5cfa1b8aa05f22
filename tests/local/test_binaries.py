"""Which program is used, and what is said when it cannot run."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from app.local.binaries import find_mongod, find_valkey, why_it_ended
from app.local.errors import LocalServiceError
from app.local.services import start_services

_LOADER = "mongod: error while loading shared libraries: {}: cannot open shared object file: No such file or directory"


def _program(folder: Path, name: str, script: str = "exit 0") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_program_on_path_comes_before_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 2.3: the order in which the programs are looked for."""
    mongod, redis = _program(tmp_path, "mongod"), _program(tmp_path, "redis-server")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (find_mongod(), find_valkey()) == (mongod, redis)
    valkey = _program(tmp_path, "valkey-server")
    assert find_valkey() == valkey


def test_without_a_program_one_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 2.3: elsewhere one line says what to install or to use docker compose up."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.local.binaries._package_folders", lambda _package: [])
    for find, setting in ((find_mongod, "MONGODB_URI"), (find_valkey, "REDIS_URL")):
        with pytest.raises(LocalServiceError) as caught:
            find()
        message = str(caught.value)
        assert setting in message
        assert "install" in message
        assert "docker compose up" in message
        assert "\n" not in message


@pytest.mark.parametrize(("library", "package"), [("libcurl.so.4", "libcurl4"), ("libssl.so.3", "libssl3")])
def test_a_missing_library_is_named_with_its_install_line(
    library: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 2.3: name the missing library and the apt-get install line when mongod does not start."""
    _program(tmp_path / "bin", "mongod", f'echo "{_LOADER.format(library)}" >&2; exit 127')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    with pytest.raises(LocalServiceError) as caught:
        start_services(tmp_path / "desk")
    message = str(caught.value)
    assert library in message
    assert f"apt-get install -y {package}" in message
    assert "\n" not in message


def test_a_processor_without_avx_is_named() -> None:
    """Issue 2.3: mongod ends with SIGILL there and says nothing."""
    assert "AVX" in why_it_ended(Path("mongod"), -signal.SIGILL, "")


def test_any_other_end_is_told_with_what_was_printed() -> None:
    """Issue 2.3: one line, with the exit code."""
    message = why_it_ended(Path("mongod"), 2, "Error parsing\ncommand line")
    assert message == "mongod ended at once with exit code 2: Error parsing command line"
