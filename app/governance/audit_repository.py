"""Every query of `agentconfigaudits`: it grows, and nothing in it is ever changed (SEC-13)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pymongo import DESCENDING
from pymongo.errors import DuplicateKeyError

from app.core.mongo import Database
from app.governance.models import CHAINED, AgentConfigAudit


class AuditRepository:
    """Rows of the chain by `seq`, all rows by time."""

    def __init__(self, database: Database) -> None:
        self._rows = database["agentconfigaudits"]

    async def last(self) -> tuple[int, str | None]:
        """The number and the HMAC of the chain's last row; (0, None) while it is empty."""
        row = await self._rows.find_one(CHAINED, {"seq": 1, "hmac": 1}, sort=[("seq", DESCENDING)])
        return (row["seq"], row["hmac"]) if row else (0, None)

    async def insert(self, row: dict[str, Any]) -> bool:
        """False when its number, or the row itself, is there already."""
        try:
            await self._rows.insert_one(row)
        except DuplicateKeyError:
            return False
        return True

    async def seq_of(self, audit_id: Any) -> int | None:
        """The number of the row with this id."""
        row = await self._rows.find_one({"_id": audit_id}, {"seq": 1})
        return row["seq"] if row else None

    async def chain(self) -> AsyncIterator[dict[str, Any]]:
        """Every chained row, first to last."""
        async for row in self._rows.find(CHAINED).sort("seq", 1):
            yield row

    async def page(self, skip: int, limit: int) -> tuple[list[AgentConfigAudit], int]:
        """Newest first, those of an older desk included; and how many there are."""
        cursor = self._rows.find().sort([("createdAt", DESCENDING), ("seq", DESCENDING)]).skip(skip).limit(limit)
        rows = [AgentConfigAudit.model_validate(row) async for row in cursor]
        return rows, await self._rows.estimated_document_count()
