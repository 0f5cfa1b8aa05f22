"""`.env.example` is the list of settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from app.core.settings import Settings, load_settings
from tests.deploy.files import SETTINGS, text

_LINE = re.compile(r"#?([A-Z][A-Z0-9_]*)=(.*)\Z")


def _given() -> dict[str, str]:
    lines = text(".env.example").splitlines()
    found = [match.groups() for line in lines if (match := _LINE.match(line))]
    assert len({key for key, _ in found}) == len(found)
    return {key: value for key, value in found}  # noqa: C416 - of fixed pairs


def _default(name: str) -> Any:
    value = Settings.model_fields[name.lower()].default
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def test_it_names_exactly_the_settings() -> None:
    """Contract, "Environment"."""
    assert set(_given()) == SETTINGS


def test_each_stands_with_its_default(tmp_path: Path) -> None:
    """Contract, "Environment": copying it whole, with every # taken away, changes nothing."""
    env_file = tmp_path / ".env"
    env_file.write_text("\n".join(f"{key}={value}" for key, value in _given().items()))
    read = load_settings(_env_file=env_file, desk_dir=tmp_path)
    for key in SETTINGS - {"DESK_DIR", "JWT_SECRET", "COOKIE_SECRET", "AUDIT_KEY"}:
        value = getattr(read, key.lower())
        assert (value.get_secret_value() if isinstance(value, SecretStr) else value) == _default(key), key


def test_each_has_a_line_that_says_what_it_is() -> None:
    """Issue 2.11: configuration points here."""
    lines = text(".env.example").splitlines()
    for number, line in enumerate(lines):
        if _LINE.match(line):
            above = lines[number - 1]
            assert above.startswith("# "), line
            assert above.endswith((".", ";")), above


def test_it_holds_no_secret() -> None:
    """SEC-1: the seed's passwords are published ones; production refuses them."""
    secrets = {name.upper() for name, field in Settings.model_fields.items() if isinstance(field.default, SecretStr)}
    filled = {key for key, value in _given().items() if value and key in secrets}
    assert filled == {f"SEED_{role}_PASSWORD" for role in ("ADMIN", "USER", "VIEWER")}
