"""Sign-in sessions: families of refresh tokens, rotated at each use (AUTH-4), ended for good (AUTH-6).

Two orders make this hold without transactions. Whoever ends a family first marks its `sid` on the person, then
revokes its tokens; whoever rotates first stores the new token, then reads the person. So a token that was rotated
while its family ended is either seen by the revocation, or its maker sees the mark and gives it to nobody.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from beanie import PydanticObjectId
from bson import ObjectId

from app.accounts.errors import RefreshReuse
from app.accounts.events import EndReason, SessionsEnded
from app.accounts.models import RefreshSession, User
from app.accounts.repository import UserRepository
from app.accounts.session_repository import RefreshSessionRepository
from app.accounts.tokens import AccessTokens
from app.core.clock import Clock
from app.core.errors import Unauthorized
from app.core.events import Announcements
from app.core.ids import new_token, token_hash

REFRESH_LIFE = timedelta(days=7)
GRACE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Device:
    """From where someone signs in, as kept with the session."""

    ip: str | None = None
    user_agent: str | None = None


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person with a live session `sid`, and the two tokens for their cookies."""

    user: User
    sid: str
    access_token: str
    refresh_token: str


class Sessions:
    def __init__(
        self,
        users: UserRepository,
        tokens: RefreshSessionRepository,
        access: AccessTokens,
        announcements: Announcements,
        clock: Clock,
    ) -> None:
        self._users = users
        self._tokens = tokens
        self._access = access
        self._announcements = announcements
        self._clock = clock

    async def open(self, user: User, device: Device) -> SignedIn:
        """A new family: signing in never continues a session that was there before."""
        return await self._issue(user, str(uuid.uuid4()), device)

    async def rotate(self, refresh_token: str, device: Device) -> SignedIn:
        """The next token of the family. Raises `Unauthorized`, or `RefreshReuse` for a revoked or long spent one."""
        hashed, now = token_hash(refresh_token), self._clock.now()
        spent = await self._tokens.spend(hashed, now) or await self._spent_just_now(hashed)
        refresh = await self._store(spent.user_id, spent.family_id, device)
        user = await self._users.in_session(spent.user_id, spent.family_id)
        if user is None:
            await self._tokens.revoke([spent.family_id], now)
            raise RefreshReuse
        return self._signed_in(user, spent.family_id, refresh)

    async def renew(self, user: User, sid: str, device: Device) -> SignedIn:
        """A new token in the family `sid`, all before it spent (PROFILE-3)."""
        await self._tokens.spend_family(sid, self._clock.now())
        return await self._issue(user, sid, device)

    async def family_of(self, refresh_token: str) -> tuple[ObjectId, str] | None:
        """Whose session a refresh token belongs to, live or not."""
        found = await self._tokens.find(token_hash(refresh_token))
        return (found.user_id, found.family_id) if found else None

    async def end(self, user_id: ObjectId, sids: Sequence[str], reason: EndReason) -> None:
        """Ends the families `sids`, and tells it."""
        await self.discard(user_id, sids)
        await self._announcements.tell(SessionsEnded(user_id, reason))

    async def end_all(self, user_id: ObjectId, reason: EndReason, keep: str | None = None) -> None:
        """Ends every family of a person but `keep`, and tells it."""
        families = await self._tokens.live_families(user_id, self._clock.now())
        await self.end(user_id, [family for family in families if family != keep], reason)

    async def discard(self, user_id: ObjectId, sids: Sequence[str]) -> None:
        """Ends the families `sids` without a word: nobody was given their tokens, or the caller tells."""
        if sids:
            now = self._clock.now()
            await self._users.revoke_sids(user_id, list(sids), now)
            await self._tokens.revoke(sids, now)

    async def _spent_just_now(self, hashed: str) -> RefreshSession:
        """A token spent within the grace (two tabs at once); a later one ends its family."""
        token, now = await self._tokens.find(hashed), self._clock.now()
        if token is None:
            raise Unauthorized
        if token.revoked_at is not None:
            raise RefreshReuse
        if token.used_at is None:
            raise Unauthorized("This session has expired. Sign in again.")
        if now - token.used_at > GRACE:
            await self.end(token.user_id, [token.family_id], "reuse")
            raise RefreshReuse
        return token

    async def _issue(self, user: User, sid: str, device: Device) -> SignedIn:
        return self._signed_in(user, sid, await self._store(user.id, sid, device))

    def _signed_in(self, user: User, sid: str, refresh_token: str) -> SignedIn:
        return SignedIn(user, sid, self._access.issue(user.id, user.role, sid), refresh_token)

    async def _store(self, user_id: ObjectId, sid: str, device: Device) -> str:
        refresh_token, now = new_token(), self._clock.now()
        await self._tokens.insert(
            RefreshSession(
                id=PydanticObjectId(),
                user_id=PydanticObjectId(user_id),
                family_id=sid,
                token_hash=token_hash(refresh_token),
                expires_at=now + REFRESH_LIFE,
                created_at=now,
                user_agent=device.user_agent[:256] if device.user_agent else None,
                ip=device.ip,
            )
        )
        return refresh_token
