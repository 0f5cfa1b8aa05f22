"""Reads by command, without a cursor of the driver's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from pymongo.errors import AutoReconnect

from app.core.mongo import Database, first_batch


class Unsteady:
    """A database whose connection breaks the first `faults` times."""

    codec_options = None

    def __init__(self, faults: int) -> None:
        self.faults = faults

    async def command(self, _command: dict[str, Any], *, codec_options: None) -> dict[str, Any]:
        if self.faults:
            self.faults -= 1
            raise AutoReconnect
        return {"cursor": {"firstBatch": [{"codec": codec_options}]}}


async def test_a_read_over_a_broken_connection_is_tried_once_more() -> None:
    """DATA-1: as the driver does for its own reads."""
    assert await first_batch(cast("Database", Unsteady(1)), {"find": "x"}) == [{"codec": None}]
    with pytest.raises(AutoReconnect):
        await first_batch(cast("Database", Unsteady(2)), {"find": "x"})


async def test_times_come_in_utc(database: Database) -> None:
    """HTTP-3"""
    at = datetime(2026, 11, 30, 8, 12, tzinfo=UTC)
    await database["things"].insert_one({"_id": 1, "at": at})
    [row] = await first_batch(database, {"find": "things", "filter": {}})
    assert (row["at"], row["at"].utcoffset()) == (at, timedelta())
