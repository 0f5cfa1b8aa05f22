"""The outbox on a real MongoDB, with a clock that tests move."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from app.core.clock import ManualClock
from app.core.mongo import Database, bind_documents
from app.outbox.models import OutboxEvent
from app.outbox.repository import OutboxRepository
from app.outbox.service import OutboxService


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 11, 30, 8, tzinfo=UTC))


@pytest.fixture
async def indexed(database: Database) -> Database:
    """The database with the outbox's indexes."""
    await bind_documents(database, [OutboxEvent])
    return database


@pytest.fixture
def outbox(indexed: Database, clock: ManualClock) -> OutboxService:
    return OutboxService(OutboxRepository(indexed), clock, max_attempts=3, jitter=random.Random(1))
