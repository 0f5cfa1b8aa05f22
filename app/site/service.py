"""What the desk as a whole can say of itself."""

from __future__ import annotations

from app.accounts.service import AccountsService
from app.core.clock import monotonic_ms
from app.core.mongo import Database, mongo_answers
from app.core.redis import RedisClient, redis_answers
from app.site.schemas import Metrics
from app.work_orders.service import WorkOrderService


class SiteService:
    """Readiness of the stores (HTTP-1)."""

    def __init__(self, database: Database, redis: RedisClient) -> None:
        self._database = database
        self._redis = redis

    async def missing(self) -> list[str]:
        """The stores that do not answer. Without Redis, limits count per process and streams wait (HTTP-4)."""
        answers = {"mongodb": await mongo_answers(self._database), "redis": await redis_answers(self._redis)}
        return [name for name, answered in answers.items() if not answered]


class MetricsService:
    """The desk in numbers (ADM). Made when the process starts."""

    def __init__(self, accounts: AccountsService, orders: WorkOrderService) -> None:
        self._accounts = accounts
        self._orders = orders
        self._started_ms = monotonic_ms()

    async def now(self) -> Metrics:
        return Metrics(
            users=await self._accounts.count(),
            work_orders=await self._orders.count(),
            uptime_seconds=int((monotonic_ms() - self._started_ms) / 1000),
        )
