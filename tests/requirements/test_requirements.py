"""The list of requirements, held against the tests."""

from __future__ import annotations

import pytest

from tests.requirements.document import DOCUMENT, ROOT, missing, rendered
from tests.requirements.naming import read_tests, requirements_in


def test_every_requirement_of_the_desk_itself_is_named_by_a_test() -> None:
    """AUTH to DATA, without exception."""
    assert missing(read_tests(ROOT / "tests")) == []


def test_the_page_of_requirements_is_what_the_tests_say() -> None:
    """Otherwise: make requirements."""
    told = rendered(read_tests(ROOT / "tests"))
    assert DOCUMENT.read_text("utf-8") == told, "docs/requirements.md is out of date: make requirements"


@pytest.mark.parametrize(
    ("docstring", "named"),
    [
        ("WO-6: one wins", {"WO-6"}),
        ("AUTH-1, 2; PROFILE-1..3", {"AUTH-1", "AUTH-2", "PROFILE-1", "PROFILE-2", "PROFILE-3"}),
        ("WO-6 and 7, COP-10.", {"WO-6", "WO-7", "COP-10"}),
        ("SEC-6, 003 §4.2", {"SEC-6"}),
        ("WO-7: 204, COP-7: 390 px wide, HTTP-5, 2 windows", {"WO-7", "COP-7", "HTTP-5"}),
        ("D-30, D-29, WO-9: what is not on the list is not found", {"D-30"}),
        ("Scenarios 1.2, 1.6 and 2.8, 003 §4.4", {"1.2", "1.6", "2.8"}),
        ("scenario 9.9, and 40.3 seconds", set()),
    ],
)
def test_lists_and_ranges_are_understood(docstring: str, named: set[str]) -> None:
    """As people write them."""
    assert requirements_in("test_it", docstring) == named


def test_a_name_may_carry_the_identifier() -> None:
    """In lower case, with underscores."""
    assert requirements_in("test_wo_6_and_data_3", "") == {"WO-6", "DATA-3"}
