"""The limits of these tests, counted apart from every other's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bson import ObjectId

from app.web.limits import RateLimiter
from tests.conftest import Stores


@pytest.fixture
async def limiter(stores: Stores) -> AsyncIterator[RateLimiter]:
    limiter = RateLimiter(stores.redis_url, f"desk:{stores.database}:{ObjectId()}")
    yield limiter
    await limiter.close()
