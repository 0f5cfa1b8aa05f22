"""Which requirements a test names: `WO-6`, `AUTH-1, 2`, `WO-1..8`, `scenarios 1.2 and 1.6`, `test_wo_6_…`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.requirements.ids import AGENTS, BASE, SCENARIOS

FAMILIES = BASE | AGENTS
_FAMILY = "|".join(FAMILIES)
_SPAN = r"\d{1,2}(?:\.\.\d{1,2})?"
_MORE = rf"(?:(?:,\s*(?:and\s+)?|\s+and\s+){_SPAN}(?![\w.%]|\s+(?!and\b)[\w§]))*"
_NAMED = re.compile(rf"\b({_FAMILY})-({_SPAN}{_MORE})")
_IN_NAME = re.compile(rf"_({_FAMILY.lower()})_(\d{{1,2}})(?=_|$)")
_SCENARIO = re.compile(r"\bscenarios?\s+(\d\.\d(?:(?:,\s*(?:and\s+)?|\s+and\s+)\d\.\d)*)", re.IGNORECASE)

Tests = dict[str, list[str]]
"""Requirement → `path::test`, sorted."""


def requirements_in(name: str, docstring: str) -> set[str]:
    """The identifiers that a test's name or docstring holds, as far as they exist."""
    found = {f"{family.upper()}-{number}" for family, number in _IN_NAME.findall(name)}
    for family, numbers in _NAMED.findall(docstring):
        found |= {f"{family}-{number}" for number in _numbers(numbers)}
    for listed in _SCENARIO.findall(docstring):
        found.update(re.findall(r"\d\.\d", listed))
    return found & ALL


def read_tests(root: Path) -> Tests:
    """Reads every test under `root`."""
    tests: Tests = {}
    for path in sorted(root.rglob("test_*.py")):
        for name, docstring in _tests_of(path):
            for requirement in requirements_in(name, docstring):
                tests.setdefault(requirement, []).append(f"{path.relative_to(root.parent).as_posix()}::{name}")
    return tests


def _tests_of(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def _numbers(text: str) -> Iterator[int]:
    for span in re.findall(_SPAN, text):
        first, _, last = span.partition("..")
        yield from range(int(first), int(last or first) + 1)


ALL = frozenset(f"{family}-{number}" for family, ids in FAMILIES.items() for number in ids) | frozenset(SCENARIOS)
