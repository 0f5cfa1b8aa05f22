"""Every recorded answer that broke somebody, played over HTTP against the real adapter (D-9, COP-9)."""

from __future__ import annotations

import pytest

from app.llm.recorded import played, recordings

RECORDINGS = recordings()


@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_recorded_stream_comes_out_as_expected(name: str) -> None:
    """D-9, COP-9, scenarios 2.5 and 3.1."""
    recorded = RECORDINGS[name]
    result = await played(recorded)
    assert result.differences(recorded["expect"]) == []
    assert all(result.ids)
    assert len(set(result.ids)) == len(result.ids)


def test_the_recordings_are_there() -> None:
    """D-9: an empty folder must not pass for success."""
    assert len(RECORDINGS) >= 30
