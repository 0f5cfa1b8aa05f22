"""What one pass costs MongoDB. The figures stand in `bench/parts/triage.py` too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from pymongo import AsyncMongoClient
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from tests.triage.house import House, propose

WARM_UP = 2


class Commands(CommandListener):
    """Which commands went to which collections, and those of them that waited for the journal."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []
        self.waited: list[tuple[str, str]] = []

    def started(self, event: CommandStartedEvent) -> None:
        command = event.command_name, str(event.command[event.command_name])
        self.all.append(command)
        if event.command.get("writeConcern", {}).get("j"):
            self.waited.append(command)

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Was counted when it started."""

    def failed(self, event: CommandFailedEvent) -> None:
        """Was counted when it started."""


@pytest.fixture(autouse=True)
def commands() -> Iterator[Commands]:
    """Those of the desk that the test opens."""
    listener = Commands()
    with pytest.MonkeyPatch.context() as patch:
        listening = partial(AsyncMongoClient, event_listeners=[listener])
        patch.setattr("app.core.mongo.AsyncMongoClient", listening)
        yield listener


async def test_a_pass_takes_17_operations_and_waits_for_the_journal_3_times(house: House, commands: Commands) -> None:
    """D-18, SEC-8, D-10, AGT-2: every check is made, and no more than that; claim, money and suggestion are on disk."""
    for number in range(WARM_UP + 1):
        await house.order(f"Order number {number}")
    house.model.add(*[propose()] * (WARM_UP + 1))
    for _ in range(WARM_UP):
        await house.triage.run_next()
    before, waited = len(commands.all), len(commands.waited)
    await house.triage.run_next()
    made = commands.all[before:]
    assert len(made) == 17, made
    assert made.count(("find", "agentconfigs")) == 3  # before the claim, the call and the write
    assert made.count(("find", "users")) == 2
    assert commands.waited[waited:] == [
        ("findAndModify", "outboxevents"),
        ("update", "agentspends"),
        ("insert", "triagesuggestions"),
    ]
