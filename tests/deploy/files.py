"""What the deployment files say, parsed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from app.core.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE_FILES = ("docker-compose.yml", "docker-compose.prod.yml")
IMAGE = "work-order-desk"
SETTINGS = {name.upper() for name in Settings.model_fields}
_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z0-9_]+)(?:(:?[-?+])([^}]*))?\}")


@cache
def text(name: str) -> str:
    return (ROOT / name).read_text()


@cache
def compose(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(text(name))
    return parsed


def services(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose(name)["services"]
    return found


def own_services(name: str) -> dict[str, dict[str, Any]]:
    """Those that run the desk's image."""
    return {key: service for key, service in services(name).items() if service["image"] == IMAGE}


def variables(name: str) -> dict[str, tuple[str, str]]:
    """Each variable the file takes from the environment: the operator after its name (`:-`, `:?`), and what follows."""
    return {match[1]: (match[2] or "", match[3] or "") for match in _VARIABLE.finditer(text(name))}


def filled(value: str, **given: str) -> str:
    """`value` as Compose fills it in: from `given`, else by its default."""

    def of(match: re.Match[str]) -> str:
        if given.get(match[1]):
            return given[match[1]]
        return (match[3] or "") if match[2] == ":-" else ""

    return _VARIABLE.sub(of, value).replace("$$", "$")


def instructions(name: str = "Dockerfile") -> list[tuple[str, str]]:
    """The Dockerfile's instructions in order, continued lines joined, comments gone."""
    lines = "\n".join(line for line in text(name).splitlines() if line.strip() and not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", lines)
    return [(word.upper(), rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def last_stage() -> list[tuple[str, str]]:
    found = instructions()
    start = max(number for number, (word, _) in enumerate(found) if word == "FROM")
    return found[start:]


def image_environment() -> dict[str, str]:
    pairs = [rest.split() for word, rest in last_stage() if word == "ENV"]
    return dict(pair.split("=", 1) for line in pairs for pair in line)
