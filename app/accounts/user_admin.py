"""What a dispatcher does with other people's accounts (ADM-1..5, AUTH-9)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bson import ObjectId

from app.accounts.actors import Actor, HumanActor, Role, require_human
from app.accounts.locks import LeasedLock
from app.accounts.models import User
from app.accounts.repository import UserRepository
from app.accounts.schemas import UserAdmin, user_admin
from app.accounts.sessions import Sessions
from app.core.clock import Clock
from app.core.errors import Forbidden, NotFound
from app.core.schemas import OffsetPage

_RANK: dict[Role, int] = {"viewer": 0, "user": 1, "admin": 2}


class UserAdminService:
    """Every method but `list` re-reads its caller: a dispatcher who was just demoted changes nothing more."""

    def __init__(self, users: UserRepository, sessions: Sessions, lock: LeasedLock, clock: Clock) -> None:
        self._users = users
        self._sessions = sessions
        self._lock = lock
        self._clock = clock

    async def list(
        self, actor: Actor, *, page: int = 1, limit: int = 20, role: Role | None = None, search: str | None = None
    ) -> OffsetPage[UserAdmin]:
        """One page, newest first; `search` (≤64) is a substring of name or address, case ignored."""
        _require_admin(actor)
        users, total = await self._users.page(role, search, (page - 1) * limit, limit)
        return OffsetPage[UserAdmin](items=[user_admin(user) for user in users], page=page, limit=limit, total=total)

    async def set_role(self, actor: Actor, user_id: ObjectId, role: Role) -> UserAdmin:
        """Changes a role; a demotion ends the person's sessions. Raises `Forbidden` for one's own, `NotFound`."""
        dispatcher = _require_admin(actor)
        if user_id == dispatcher.id:
            raise Forbidden("You cannot change your own role. Ask another dispatcher.")
        async with self._exclusively(dispatcher):
            before = await self._person(user_id)
            if role != "admin":
                await self._keep_one_admin(before)
            after = await self._change(user_id, {"role": role})
        if _RANK[role] < _RANK[before.role]:
            await self._sessions.end_all(user_id, "role")
        return after

    async def set_active(self, actor: Actor, user_id: ObjectId, is_active: bool) -> UserAdmin:
        """Activates or deactivates; the latter ends the person's sessions. Raises `Forbidden`, `NotFound`."""
        dispatcher = _require_admin(actor)
        if user_id == dispatcher.id:
            raise Forbidden("You cannot activate or deactivate yourself. Ask another dispatcher.")
        async with self._exclusively(dispatcher):
            before = await self._person(user_id)
            if not is_active:
                await self._keep_one_admin(before)
            after = await self._change(user_id, {"isActive": is_active})
        if not is_active:
            await self._sessions.end_all(user_id, "deactivated")
        return after

    async def set_ai(self, actor: Actor, user_id: ObjectId, ai_enabled: bool) -> UserAdmin:
        """The dispatcher's word on whether AI serves a person. Raises `NotFound`."""
        await self._still_admin(_require_admin(actor))
        await self._person(user_id)
        return await self._change(user_id, {"aiEnabled": ai_enabled})

    @asynccontextmanager
    async def _exclusively(self, dispatcher: HumanActor) -> AsyncIterator[None]:
        """One change of role or status at a time, by someone who is a dispatcher at that time (AUTH-9)."""
        async with self._lock.held():
            await self._still_admin(dispatcher)
            yield

    async def _still_admin(self, dispatcher: HumanActor) -> None:
        row = await self._users.active(dispatcher.id)
        if row is None or row["role"] != "admin":
            raise Forbidden("You are no longer a dispatcher.")

    async def _keep_one_admin(self, user: User) -> None:
        last = user.role == "admin" and user.is_active and not await self._users.other_active_admins(user.id)
        if last:
            raise Forbidden("This is the last active dispatcher. Make someone else a dispatcher first.")

    async def _person(self, user_id: ObjectId) -> User:
        user = await self._users.by_id(user_id)
        if user is None:
            raise NotFound("There is no such person.")
        return user

    async def _change(self, user_id: ObjectId, changes: dict[str, object]) -> UserAdmin:
        changed = await self._users.change(user_id, changes | {"updatedAt": self._clock.now()})
        if changed is None:
            raise NotFound("There is no such person.")
        return user_admin(changed)


def _require_admin(actor: Actor) -> HumanActor:
    human = require_human(actor)
    if human.role != "admin":
        raise Forbidden("Only a dispatcher may do this.")
    return human
