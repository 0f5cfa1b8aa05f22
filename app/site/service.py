"""What the desk as a whole can say of itself."""

from __future__ import annotations

from app.core.mongo import Database, mongo_answers
from app.core.redis import RedisClient, redis_answers


class SiteService:
    """Readiness of the stores (HTTP-1)."""

    def __init__(self, database: Database, redis: RedisClient) -> None:
        self._database = database
        self._redis = redis

    async def missing(self) -> list[str]:
        """The stores that do not answer. Without Redis, limits count per process and streams wait (HTTP-4)."""
        answers = {"mongodb": await mongo_answers(self._database), "redis": await redis_answers(self._redis)}
        return [name for name, answered in answers.items() if not answered]
