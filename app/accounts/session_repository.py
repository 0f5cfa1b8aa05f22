"""Every query about refresh tokens and their families (AUTH-4), and the lease of AUTH-9."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument
from pymongo.asynchronous.collection import AsyncCollection

from app.accounts.models import EVER, Lock, RefreshSession

Row = dict[str, Any]


class RefreshSessionRepository:
    @property
    def _tokens(self) -> AsyncCollection[Row]:
        return RefreshSession.get_pymongo_collection()

    async def insert(self, token: RefreshSession) -> None:
        await self._tokens.insert_one(token.model_dump(by_alias=True))

    async def spend(self, token_hash: str, now: datetime) -> RefreshSession | None:
        """Claims an unspent, live token. Of many at once exactly one gets it."""
        live = {"tokenHash": token_hash, "usedAt": None, "revokedAt": None, "expiresAt": {"$gt": now}}
        return _token(await self._tokens.find_one_and_update(live, {"$set": {"usedAt": now}}))

    async def find(self, token_hash: str) -> RefreshSession | None:
        return _token(await self._tokens.find_one({"tokenHash": token_hash}))

    async def live_families(self, user_id: ObjectId, now: datetime) -> list[str]:
        live = {"userId": user_id, "revokedAt": None, "expiresAt": {"$gt": now}}
        return [str(family) for family in await self._tokens.distinct("familyId", live)]

    async def revoke(self, families: Sequence[str], now: datetime) -> None:
        """Every token of `families`, spent ones too: any of them tells later that its family ended."""
        await self._tokens.update_many(
            {"familyId": {"$in": list(families)}, "revokedAt": None}, {"$set": {"revokedAt": now}}
        )

    async def spend_family(self, family: str, now: datetime) -> None:
        """All that is unspent in `family` counts as used now (PROFILE-3)."""
        await self._tokens.update_many({"familyId": family, "usedAt": None}, {"$set": {"usedAt": now}})


class LockRepository:
    """Leases on the database server's clock: the processes' clocks may differ."""

    @property
    def _locks(self) -> AsyncCollection[Row]:
        return Lock.get_pymongo_collection()

    async def take(self, name: str, holder: str, lease: timedelta) -> bool:
        """Whether `holder` now has the lock `name` for `lease`."""
        await self._locks.update_one({"_id": name}, {"$setOnInsert": {"until": EVER, "holder": None}}, upsert=True)
        lease_ms = round(lease.total_seconds() * 1000)
        taken = await self._locks.find_one_and_update(
            {"_id": name, "$expr": {"$lte": ["$until", "$$NOW"]}},
            [{"$set": {"holder": {"$literal": holder}, "until": {"$add": ["$$NOW", lease_ms]}}}],
            return_document=ReturnDocument.AFTER,
        )
        return taken is not None

    async def free(self, name: str, holder: str) -> None:
        """Gives the lock back, if `holder` still has it."""
        await self._locks.update_one({"_id": name, "holder": holder}, {"$set": {"until": EVER, "holder": None}})


def _token(row: Row | None) -> RefreshSession | None:
    return RefreshSession.model_validate(row) if row is not None else None
