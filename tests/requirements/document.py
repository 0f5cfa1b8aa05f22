"""Makes `docs/requirements.md` from the tests: `make requirements`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.requirements.ids import AGENTS, BASE, SCENARIOS
from tests.requirements.naming import Tests, read_tests

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "requirements.md"
_HEAD = """# Requirements, and the tests that prove them

Made from the tests by `make requirements`; a test fails when this page is out of date. A test belongs to a requirement
when its name or docstring names it. Tests that run once per size, role or input stand here once.
"""
_TITLES = {
    "AUTH": "Accounts",
    "PROFILE": "Profile",
    "ADM": "Administration",
    "WO": "Work orders",
    "HTTP": "HTTP and pages",
    "DATA": "Data",
    "COP": "Copilot",
    "SEC": "Security of the agents",
    "AGT": "Triage agent",
    "D": "Decisions",
    "T": "Tool policy",
}


def rendered(tests: Tests) -> str:
    """The whole document."""
    sections = [_section(_TITLES[family], family + "-", ids, tests) for family, ids in (BASE | AGENTS).items()]
    sections.append(_section("Scenarios that went wrong elsewhere", "", SCENARIOS, tests))
    return "\n".join([_HEAD, *sections])


def missing(tests: Tests) -> list[str]:
    """Requirements of the desk itself that no test names."""
    wanted = (f"{family}-{number}" for family, ids in BASE.items() for number in ids)
    return [requirement for requirement in wanted if requirement not in tests]


def _section(title: str, prefix: str, ids: Mapping[int, str] | Mapping[str, str], tests: Tests) -> str:
    rows = [
        f"| {prefix}{number} | {meaning} | {_cell(tests.get(f'{prefix}{number}', []))} |"
        for number, meaning in ids.items()
    ]
    return "\n".join([f"## {title}\n", "| id | what it asks for | tests |", "|---|---|---|", *rows, ""])


def _cell(found: list[str]) -> str:
    """Tests by file: the file once, then its tests in words."""
    by_file: dict[str, list[str]] = {}
    for test in found:
        path, name = test.split("::")
        by_file.setdefault(path, []).append(name.removeprefix("test_").replace("_", " "))
    return "<br>".join(f"[{path}](../{path}): {'; '.join(names)}" for path, names in by_file.items()) or "not yet"


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(read_tests(ROOT / "tests")), "utf-8")
