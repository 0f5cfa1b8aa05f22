"""What MongoDB keeps of people and their sign-in sessions (DATA-2).

Fields of an older desk that are not named here survive: documents are never written back whole.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from beanie import Document, PydanticObjectId
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pymongo import ASCENDING, DESCENDING, IndexModel

from app.accounts.actors import Role
from app.core.mongo import database_alias

EVER = datetime.fromtimestamp(0, UTC)


class PasswordReset(BaseModel):
    """An open reset: the SHA-256 of its token, good until `expires_at` (AUTH-7)."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    token_hash: str = Field(repr=False)
    expires_at: datetime


class User(Document):
    """A person with an account. A missing `aiEnabled` or `isActive` means true."""

    model_config = ConfigDict(alias_generator=database_alias, populate_by_name=True)

    id: PydanticObjectId
    email: str
    password_hash: str = Field(repr=False)
    password_version: int | None = None
    name: str
    role: Role = "user"
    is_active: bool = True
    ai_enabled: bool = True
    ai_opt_out: bool = False
    last_login_at: datetime | None = None
    failed_login_count: int = 0
    failed_login_window_start_at: datetime | None = None
    locked_until: datetime | None = None
    password_reset: PasswordReset | None = None
    created_at: datetime = EVER
    updated_at: datetime = EVER

    class Settings:
        name = "users"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("email", ASCENDING)], unique=True),
            IndexModel([("passwordReset.tokenHash", ASCENDING)], unique=True, sparse=True),
            IndexModel([("createdAt", DESCENDING), ("_id", DESCENDING)]),
            IndexModel([("role", ASCENDING), ("createdAt", DESCENDING), ("_id", DESCENDING)]),
        ]

    def may_sign_in(self, now: datetime) -> bool:
        """Active, and not locked by failures (AUTH-2, AUTH-11)."""
        return self.is_active and (self.locked_until is None or self.locked_until <= now)


class RefreshSession(Document):
    """One refresh token of a family; the family is the session that `sid` names (AUTH-4)."""

    model_config = ConfigDict(alias_generator=database_alias, populate_by_name=True)

    id: PydanticObjectId
    user_id: PydanticObjectId
    family_id: str
    token_hash: str = Field(repr=False)
    used_at: datetime | None = None
    revoked_at: datetime | None = None
    expires_at: datetime
    created_at: datetime = EVER
    user_agent: str | None = None
    ip: str | None = None

    class Settings:
        name = "refreshsessions"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("tokenHash", ASCENDING)], unique=True),
            IndexModel([("familyId", ASCENDING)]),
            IndexModel([("userId", ASCENDING)]),
            IndexModel([("expiresAt", ASCENDING)], expireAfterSeconds=0),
        ]


class Lock(Document):
    """A lease that serialises a few rare writes across processes (AUTH-9). Times are the database server's."""

    model_config = ConfigDict(alias_generator=database_alias, populate_by_name=True)

    id: str  # type: ignore[assignment]  # the lock's name is its id
    holder: str | None = None
    until: datetime

    class Settings:
        name = "locks"
