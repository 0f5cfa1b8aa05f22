"""Every query about people. Writes are conditional and name their fields: unknown ones survive (DATA-2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import DuplicateKeyError

from app.accounts.actors import Role
from app.accounts.errors import EmailTaken
from app.accounts.models import User
from app.core.mongo import FIRST_BATCH_MAX, first_batch

Row = dict[str, Any]

MAX_FAILURES = 5
FAILURE_WINDOW = LOCK_TIME = timedelta(minutes=15)
_REVOKED_KEPT = timedelta(minutes=20)
"""Longer than an access token lives: after that a revoked `sid` can no longer be presented (AUTH-5)."""
_REVOKED_MOST = 1_000
_MAX_MS = 5_000
_ACTIVE = {"isActive": {"$ne": False}}
_PERSON = {"email": 1, "name": 1, "role": 1, "aiEnabled": 1, "aiOptOut": 1}
_NO_FAILURES: Row = {"failedLoginCount": 0, "failedLoginWindowStartAt": None, "lockedUntil": None}
_NEWEST_FIRST = [("createdAt", -1), ("_id", -1)]


class UserRepository:
    @property
    def _users(self) -> AsyncCollection[Row]:
        return User.get_pymongo_collection()

    async def insert(self, email: str, password_hash: str, name: str, role: Role, now: datetime) -> User:
        """Raises `EmailTaken`: the unique index decides between two at once."""
        row: Row = {
            "_id": ObjectId(),
            "email": email,
            "passwordHash": password_hash,
            "name": name,
            "role": role,
            "isActive": True,
            "aiEnabled": True,
            "lastLoginAt": None,
            **_NO_FAILURES,
            "createdAt": now,
            "updatedAt": now,
        }
        try:
            await self._users.insert_one(row)
        except DuplicateKeyError:
            raise EmailTaken from None
        return _made(row)

    async def by_email(self, email: str) -> User | None:
        return _user(await self._users.find_one({"email": email}))

    async def by_id(self, user_id: ObjectId) -> User | None:
        return _user(await self._users.find_one({"_id": user_id}))

    async def by_reset(self, reset_hash: str, now: datetime) -> User | None:
        """The active person whose open reset this is."""
        return _user(await self._users.find_one({**_reset_open(reset_hash, now), **_ACTIVE}))

    async def person_in_session(self, user_id: ObjectId, sid: str) -> Row | None:
        """The few fields that every request needs, if the person is active and `sid` not revoked (AUTH-5)."""
        where = _in_session(user_id, sid)
        found = {"find": self._users.name, "filter": where, "projection": _PERSON, "limit": 1, "singleBatch": True}
        rows = await first_batch(self._users.database, found)
        return rows[0] if rows else None

    def session_stage(self, user_id: ObjectId, sid: str) -> Row:
        """The same as the last stage of an aggregation elsewhere: it adds `{beside: <those fields>}`, or nothing."""
        person = [{"$match": _in_session(user_id, sid)}, {"$project": _PERSON}, {"$replaceWith": {"beside": "$$ROOT"}}]
        return {"$unionWith": {"coll": self._users.name, "pipeline": person}}

    async def active(self, user_id: ObjectId) -> Row | None:
        return await self._users.find_one({"_id": user_id, **_ACTIVE}, _PERSON)

    async def named(self, ids: Iterable[ObjectId]) -> list[Row]:
        wanted = list(set(ids))
        fields = {"name": 1, "email": 1}
        if len(wanted) > FIRST_BATCH_MAX:
            return await self._users.find({"_id": {"$in": wanted}}, fields).to_list()
        found = {"find": self._users.name, "filter": {"_id": {"$in": wanted}}, "projection": fields}
        return await first_batch(self._users.database, found)

    async def record_failure(self, user_id: ObjectId, now: datetime) -> None:
        """Counts one failure in its window; the fifth locks. One atomic update; a locked account counts no further."""
        stale = {"$lte": [{"$ifNull": ["$failedLoginWindowStartAt", None]}, now - FAILURE_WINDOW]}
        counted = {"$add": [{"$ifNull": ["$failedLoginCount", 0]}, 1]}
        full = {"$gte": ["$failedLoginCount", MAX_FAILURES]}
        await self._users.update_one(
            {"_id": user_id, **_unlocked(now)},
            [
                {
                    "$set": {
                        "failedLoginCount": {"$cond": [stale, 1, counted]},
                        "failedLoginWindowStartAt": {"$cond": [stale, now, "$failedLoginWindowStartAt"]},
                    }
                },
                {"$set": {"lockedUntil": {"$cond": [full, now + LOCK_TIME, None]}}},
            ],
        )

    async def complete_sign_in(self, user: User, now: datetime, new_hash: str | None) -> User | None:
        """Marks the sign-in of `user`, unless they were locked, deactivated or given a new password meanwhile."""
        changes: Row = {"lastLoginAt": now, **_NO_FAILURES} | ({"passwordHash": new_hash} if new_hash else {})
        return await self.change(user.id, changes, {**_same_password(user), **_ACTIVE, **_unlocked(now)})

    async def open_reset(self, email: str, reset_hash: str, expires_at: datetime) -> User | None:
        """Replaces any earlier reset of the active person at `email`."""
        reset = {"tokenHash": reset_hash, "expiresAt": expires_at}
        found = await self._users.find_one_and_update({"email": email, **_ACTIVE}, {"$set": {"passwordReset": reset}})
        return _user(found)

    async def spend_reset(self, user: User, reset_hash: str, new_hash: str, now: datetime) -> User | None:
        """The new password, if this reset is still open: one of two at once wins."""
        where = {**_reset_open(reset_hash, now), **_ACTIVE}
        return await self._replace_password(user, new_hash, now, where, {"lastLoginAt": now})

    async def replace_password(self, user: User, new_hash: str, now: datetime) -> User | None:
        """The new password, if the old one is still that of `user` as read."""
        return await self._replace_password(user, new_hash, now, {**_same_password(user), **_ACTIVE}, {})

    async def _replace_password(self, user: User, new_hash: str, now: datetime, where: Row, also: Row) -> User | None:
        update = {
            "$set": {"passwordHash": new_hash, "updatedAt": now, **_NO_FAILURES, **also},
            "$inc": {"passwordVersion": 1},
            "$unset": {"passwordReset": ""},
        }
        return _user(await self._update(user.id, where, update))

    async def change(self, user_id: ObjectId, changes: Row, where: Mapping[str, Any] | None = None) -> User | None:
        """Sets `changes` where the person matches `where`; the person afterwards, or None."""
        return _user(await self._update(user_id, where or {}, {"$set": changes}))

    async def _update(self, user_id: ObjectId, where: Mapping[str, Any], update: Row) -> Row | None:
        after = ReturnDocument.AFTER
        found: Row | None = await self._users.find_one_and_update(
            {**where, "_id": user_id}, update, return_document=after
        )
        return found

    async def revoke_sids(self, user_id: ObjectId, sids: list[str], now: datetime) -> None:
        """Adds `sids` to the person's bounded list of revoked sessions; those too old to matter go."""
        kept = {
            "$filter": {
                "input": {"$ifNull": ["$revokedSids", []]},
                "cond": {"$gt": ["$$this.at", now - _REVOKED_KEPT]},
            }
        }
        added = {"$literal": [{"sid": sid, "at": now} for sid in sids]}
        value = {"$slice": [{"$concatArrays": [kept, added]}, -_REVOKED_MOST]}
        await self._users.update_one({"_id": user_id}, [{"$set": {"revokedSids": value}}])

    async def in_session(self, user_id: ObjectId, sid: str) -> User | None:
        """The active person, if `sid` was not revoked."""
        return _user(await self._users.find_one(_in_session(user_id, sid)))

    async def other_active_admins(self, user_id: ObjectId) -> int:
        return await self._users.count_documents({"role": "admin", **_ACTIVE, "_id": {"$ne": user_id}}, limit=1)

    async def page(self, role: Role | None, search: str | None, skip: int, limit: int) -> tuple[list[User], int]:
        """One page, newest first, and how many match. `search` is a substring of name or address, never a pattern."""
        where: Row = ({"role": role} if role else {}) | ({"$or": _contains(search)} if search else {})
        found = self._users.find(where, sort=_NEWEST_FIRST, skip=skip, limit=limit, max_time_ms=_MAX_MS)
        rows = await found.to_list()
        index = [("role", 1), *_NEWEST_FIRST] if role else _NEWEST_FIRST
        total = await self._users.count_documents(where, hint=index, maxTimeMS=_MAX_MS)
        return [_made(row) for row in rows], total

    async def count(self) -> int:
        return await self._users.count_documents({}, hint=_NEWEST_FIRST, maxTimeMS=_MAX_MS)


def _made(row: Row) -> User:
    user: User = User.model_validate(row)
    return user


def _user(row: Row | None) -> User | None:
    return _made(row) if row is not None else None


def _in_session(user_id: ObjectId, sid: str) -> Row:
    return {"_id": user_id, **_ACTIVE, "revokedSids.sid": {"$ne": sid}}


def _same_password(user: User) -> Row:
    """The password as it was when `user` was read; a missing version is that of an account never changed here."""
    return {"passwordVersion": user.password_version}


def _unlocked(now: datetime) -> Row:
    return {"$or": [{"lockedUntil": None}, {"lockedUntil": {"$lte": now}}]}


def _reset_open(reset_hash: str, now: datetime) -> Row:
    return {"passwordReset.tokenHash": reset_hash, "passwordReset.expiresAt": {"$gt": now}}


def _contains(search: str) -> list[Row]:
    pattern = {"$regex": re.escape(search), "$options": "i"}
    return [{"name": pattern}, {"email": pattern}]
