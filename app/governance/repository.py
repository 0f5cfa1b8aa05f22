"""Every query of `agentconfigs` and `agentspends`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument, WriteConcern
from pymongo.errors import DuplicateKeyError

from app.core.mongo import Database
from app.governance.models import AgentConfig, AgentSpend


class GovernanceRepository:
    """Policies and the spend ledger."""

    def __init__(self, database: Database) -> None:
        self._configs = database["agentconfigs"]
        self._spends = database["agentspends"]
        self._settled = database.get_collection("agentspends", write_concern=WriteConcern(w=1, j=False))

    async def config(self, name: str, first: dict[str, Any]) -> AgentConfig:
        """The agent's policy, made from `first` at its first use."""
        found = await self._configs.find_one({"name": name})
        return _config(found if found else await self._make_config(name, first))

    async def _make_config(self, name: str, first: dict[str, Any]) -> dict[str, Any] | None:
        try:
            return await self._configs.find_one_and_update(
                {"name": name}, {"$setOnInsert": first}, upsert=True, return_document=ReturnDocument.AFTER
            )
        except DuplicateKeyError:
            return await self._configs.find_one({"name": name})

    async def change_config(self, name: str, revision: int, fields: dict[str, Any]) -> AgentConfig | None:
        """Sets `fields` at exactly this revision, none of whose audit rows is owed; None when another was faster."""
        at = {"revision": revision} if revision else {"revision": {"$in": [0, None]}}
        found = await self._configs.find_one_and_update(
            {"name": name, "pendingAudit": None} | at,
            {"$set": fields | {"revision": revision + 1}},
            return_document=ReturnDocument.AFTER,
        )
        return _config(found) if found else None

    async def audited(self, name: str, audit_id: ObjectId) -> None:
        """The chain has this row now: the policy owes it no more."""
        await self._configs.update_one({"name": name, "pendingAudit.id": audit_id}, {"$unset": {"pendingAudit": ""}})

    async def open_day(self, key: str) -> None:
        """Makes the day's document beforehand: an upsert with a cap in its predicate would be a DuplicateKey."""
        try:
            await self._spends.update_one({"key": key}, {"$setOnInsert": {"spentUsd": 0.0}}, upsert=True)
        except DuplicateKeyError:
            return

    async def day(self, key: str) -> AgentSpend | None:
        found = await self._spends.find_one({"key": key})
        return AgentSpend.model_validate(found) if found else None

    async def apply(self, predicate: dict[str, Any], update: dict[str, Any]) -> bool:
        """One conditional update of the ledger; whether it took effect."""
        result = await self._spends.update_one(predicate, update)
        return result.matched_count == 1

    async def settle(self, predicate: dict[str, Any], update: dict[str, Any]) -> None:
        """As `apply`, without waiting for the disk: one that MongoDB loses is settled as a leftover, in full."""
        await self._settled.update_one(predicate, update)

    async def days(self, keys: list[str]) -> list[AgentSpend]:
        cursor = self._spends.find({"key": {"$in": keys}})
        return [AgentSpend.model_validate(row) async for row in cursor]

    async def drop_leftovers(self, key: str, call_ids: list[str], before: datetime) -> int:
        """Closes reservations made before `before` without moving money: settled at the reservation."""
        dropped = 0
        for call in call_ids:
            result = await self._spends.update_one(
                {"key": key, f"open.{call}.at": {"$lt": before}}, {"$unset": {f"open.{call}": ""}}
            )
            dropped += result.modified_count
        return dropped


def _config(row: dict[str, Any] | None) -> AgentConfig:
    config: AgentConfig = AgentConfig.model_validate(row)
    return config
