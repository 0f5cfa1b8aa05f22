"""What the documents say of the program is so."""

from __future__ import annotations

import re

import pytest

from app.core.settings import Settings
from tests.deploy.files import ROOT, SETTINGS, text

DOCUMENTS = ["README.md", "docs/GETTING_STARTED.md", "docs/scaling.md", "docs/dependencies.md"]
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#]+)\)")
_TREE = re.compile(r"^    ([a-z_]+(?:/[a-z_.]*)*)\s{2,}\S", re.MULTILINE)
_SETTING = re.compile(r"\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b")
_OTHERS = {"MONGO_PASSWORD", "VALKEY_PASSWORD", "GETTING_STARTED"}
"""Passwords of the databases' own containers, and a document."""


def _make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_it_names_exist(document: str) -> None:
    """Issue 2.11."""
    from app.cli import desk

    assert set(re.findall(r"(?:`|^    )make ([a-z-]+)", text(document), re.MULTILINE)) <= _make_targets()
    assert set(re.findall(r"`desk ([a-z-]+)", text(document))) <= set(desk.commands)
    assert set(re.findall(r"-m app\.cli ([a-z-]+)", text(document))) <= set(desk.commands)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_its_links_lead_to_files(document: str) -> None:
    """Issue 2.11."""
    for link in _LINK.findall(text(document)):
        assert ((ROOT / document).parent / link).exists(), link


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_settings_it_names_exist(document: str) -> None:
    """Contract, "Environment"."""
    assert set(_SETTING.findall(text(document))) <= SETTINGS | _OTHERS


def test_the_two_commands_stand_in_the_readme() -> None:
    """Issue 2.1."""
    assert "    make run " in text("README.md")
    assert "    make test " in text("README.md")


def test_the_sign_ins_are_those_of_the_seed() -> None:
    """Issue 2.9."""
    for role in ("admin", "user", "viewer"):
        email = Settings.model_fields[f"seed_{role}_email"].default
        password = Settings.model_fields[f"seed_{role}_password"].default.get_secret_value()
        assert f"| {email} | {password} |" in text("README.md")


def test_the_map_of_the_code_is_true_to_the_disk() -> None:
    """Issue 2.11: what it names is there, and no room is left out."""
    named = set(_TREE.findall(text("README.md")))
    for path in named:
        assert (ROOT / path).exists(), path
    rooms = {f"app/{path.name}/" for path in (ROOT / "app").iterdir() if (path / "__init__.py").exists()}
    assert rooms <= named
    assert {"worker/", "templates/", "static/", "tests/", "docs/"} <= named


def test_the_desk_command_is_listed_whole() -> None:
    """Issue 2.4."""
    from app.cli import desk

    line = next(line for line in text("README.md").splitlines() if line.startswith("    app/cli.py"))
    assert {word.strip() for word in line.split("command:")[1].split(",")} == set(desk.commands)


@pytest.mark.parametrize("package", ["pyproject.toml"])
def test_each_direct_dependency_has_its_reason(package: str) -> None:
    """Issue 2.2: one line each in docs/dependencies.md."""
    import tomllib

    project = tomllib.loads(text(package))["project"]
    extras = project["optional-dependencies"]
    names = {re.split(r"[\[<>=~; ]", one)[0] for one in [*project["dependencies"], *extras["local"], *extras["dev"]]}
    reasons = text("docs/dependencies.md").lower()
    missing = {name for name in names - {project["name"]} if name.lower() not in reasons}
    assert not missing
