from __future__ import annotations

import pytest

from app.core.mongo import Database
from app.desk import Desk
from app.llm.demo.scripted_model import ScriptedModel
from tests.conftest import ShiftedClock
from tests.triage.house import House


@pytest.fixture
def house(desk: Desk, model: ScriptedModel, clock: ShiftedClock, database: Database) -> House:
    return House(desk, model, clock, database)
