"""Working hours as they are written (D-12)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.settings import SettingsError, load_settings
from app.core.weekly_hours import parse_hours

MONDAY = datetime(2026, 11, 30, tzinfo=UTC)


def _at(day: int, hour: int, minute: int = 0) -> datetime:
    return MONDAY + timedelta(days=day, hours=hour, minutes=minute)


@pytest.mark.parametrize(
    ("text", "moment", "is_open"),
    [
        ("*", _at(6, 3), True),
        ("8-18", _at(0, 8), True),
        ("8-18", _at(0, 7, 59), False),
        ("8-18", _at(6, 17, 59), True),
        ("8-18", _at(0, 18), False),
        ("0-24", _at(2, 23, 59), True),
        ("22-6", _at(0, 5, 59), True),
        ("22-6", _at(0, 6), False),
        ("22-6", _at(0, 23), True),
        ("Mon-Fri 08:00-18:00 Europe/Berlin", _at(0, 7), True),
        ("Mon-Fri 08:00-18:00 Europe/Berlin", _at(0, 6, 59), False),
        ("Mon-Fri 08:00-18:00 Europe/Berlin", _at(5, 12), False),
        ("Sat-Mon 10:00-12:00 UTC", _at(6, 11), True),
        ("Sat-Mon 10:00-12:00 UTC", _at(1, 11), False),
        ("Sun 22:00-02:00 UTC", _at(7, 1), True),
        ("Sun 22:00-02:00 UTC", _at(6, 1), False),
        ("Mon 08:00-09:00 UTC; Tue 10:30-24:00 America/New_York", _at(1, 15, 30), True),
        ("Mon 08:00-09:00 UTC;Tue 10:30-24:00 America/New_York", _at(2, 4, 59), True),
    ],
)
def test_hours_are_open_when_they_say(text: str, moment: datetime, is_open: bool) -> None:
    """D-12."""
    assert parse_hours(text).open_at(moment) is is_open


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "always",
        "**",
        "8",
        "8-8",
        "8-25",
        "24-6",
        "8:00-18:00",
        "-1-5",
        "8-18 UTC",
        "Mon-Fri 8:00-18:00 Europe/Berlin",
        "Mon-Fri 08:00-18:00",
        "Mon-Fri 08:00-18:60 UTC",
        "Mon-Fri 25:00-26:00 UTC",
        "Mon-Fri 08:00-18:00 Europe/Atlantis",
        "Mon-Fri 08:00-18:00 ../../etc/passwd",
        "Mon,Tue 08:00-18:00 UTC",
        "mon-fri 08:00-18:00 UTC",
        "8-18;",
        ";8-18",
        "*;8-18",
        "٨-١٨",
        ";".join(["8-18"] * 21),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """D-12: at the edit."""
    with pytest.raises(ValueError, match=r"must be|names no"):
        parse_hours(text)


def test_bad_hours_stop_the_boot_with_one_line() -> None:
    """D-12: at boot, naming the key and what is allowed."""
    with pytest.raises(SettingsError) as refused:
        load_settings(_env_file=None, agent_working_hours="9to5")
    (line,) = refused.value.lines
    assert line.startswith("AGENT_WORKING_HOURS: must be *, H-H in UTC")


def test_the_clock_change_moves_the_hours_with_the_people() -> None:
    """D-12: eight o'clock in Berlin, in winter and in summer."""
    hours = parse_hours("Mon-Sun 08:00-18:00 Europe/Berlin")
    assert hours.next_opening(datetime(2026, 3, 28, 20, tzinfo=UTC)) == datetime(2026, 3, 29, 6, tzinfo=UTC)
    assert hours.next_opening(datetime(2026, 10, 24, 20, tzinfo=UTC)) == datetime(2026, 10, 25, 7, tzinfo=UTC)


def test_the_next_days_are_shown_in_order_and_joined() -> None:
    """Issue 5.6: the preview of the next seven days."""
    spans = parse_hours("Mon-Fri 08:00-12:00 UTC;Mon 11:00-14:00 UTC").openings(_at(0, 9), 7)
    assert spans[0] == (_at(0, 9), _at(0, 14))
    assert [(end - start) for start, end in spans[1:5]] == [timedelta(hours=4)] * 4
    assert parse_hours("*").openings(MONDAY, 7) == [(MONDAY, _at(7, 0))]


_SPAN = st.tuples(st.integers(0, 23), st.integers(0, 24)).filter(lambda span: span[0] != span[1])
_MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


@given(_SPAN, _MOMENTS, st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]))
def test_the_next_opening_is_open_and_never_in_the_past(span: tuple[int, int], moment: datetime, zone: str) -> None:
    """D-11: what waits for hours has an instant at which it runs."""
    hours = parse_hours(f"Tue-Thu {span[0]:02d}:00-{span[1]:02d}:00 {zone}")
    opening = hours.next_opening(moment)
    assert opening >= moment
    assert hours.open_at(opening)
