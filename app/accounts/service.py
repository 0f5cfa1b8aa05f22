"""People: who they are, what they may change of themselves, and how other features ask about them."""

from __future__ import annotations

from collections.abc import Iterable

from bson import ObjectId

from app.accounts.actors import HumanActor, Role
from app.accounts.askers import Asker
from app.accounts.errors import AuthGeneric, EmailTaken, WrongPassword
from app.accounts.models import User
from app.accounts.passwords import Passwords
from app.accounts.people import Person, PersonRef, person_in
from app.accounts.repository import UserRepository
from app.accounts.schemas import PasswordChange, ProfileChange
from app.accounts.sessions import Device, Sessions, SignedIn
from app.core.clock import Clock
from app.core.errors import Unauthorized


class AccountsService:
    def __init__(self, users: UserRepository, sessions: Sessions, passwords: Passwords, clock: Clock) -> None:
        self._users = users
        self._sessions = sessions
        self._passwords = passwords
        self._clock = clock

    async def person(self, user_id: ObjectId, sid: str) -> Person | None:
        """The active person behind a session that was not revoked; one query (AUTH-5)."""
        row = await self._users.person_in_session(user_id, sid)
        return person_in(row, sid) if row else None

    def asker(self, user_id: ObjectId, sid: str) -> Asker:
        """The person behind a session, to be read together with what they ask for (AUTH-5)."""
        stage = self._users.session_stage(user_id, sid)
        return Asker(user_id, sid, stage=stage, read=lambda: self.person(user_id, sid))

    async def refs(self, ids: Iterable[ObjectId]) -> dict[ObjectId, PersonRef]:
        """`{id, name, email}` of each person that exists; one query."""
        rows = await self._users.named(ids)
        return {row["_id"]: PersonRef(id=str(row["_id"]), name=row["name"], email=row["email"]) for row in rows}

    async def actor(self, user_id: ObjectId) -> HumanActor | None:
        """The person with their present role, for what is executed later; None when missing or inactive."""
        row = await self._users.active(user_id)
        return HumanActor(id=user_id, role=row["role"]) if row else None

    async def active_person(self, user_id: ObjectId) -> Person | None:
        """The active person outside a session: for a run that goes on by itself."""
        row = await self._users.active(user_id)
        return person_in(row, "") if row else None

    async def ai_on(self, user_id: ObjectId) -> bool:
        """Whether AI may act for or about a person (PROFILE-1..3). False when missing or inactive."""
        person = await self.active_person(user_id)
        return person is not None and person.ai_on

    async def count(self) -> int:
        return await self._users.count()

    async def profile(self, user_id: ObjectId) -> User:
        """PROFILE-1. Raises `Unauthorized` when the account is gone."""
        return _found(await self._users.by_id(user_id))

    async def change_profile(self, user_id: ObjectId, change: ProfileChange) -> User:
        """PROFILE-2: what was given, nothing else."""
        given = change.model_dump(by_alias=True, exclude_unset=True)
        return _found(await self._users.change(user_id, given | {"updatedAt": self._clock.now()}))

    async def change_password(self, person: Person, change: PasswordChange, device: Device) -> SignedIn:
        """PROFILE-3: ends the other sessions, rotates this one. Raises `WrongPassword`.

        A wrong current password counts as a failed sign-in: a stolen session is no place to guess (AUTH-11).
        """
        user = _found(await self._users.by_id(person.id))
        matches = await self._passwords.verify(change.current_password, user.password_hash)
        if not matches:
            await self._users.record_failure(user.id, self._clock.now())
        if not matches or not user.may_sign_in(self._clock.now()):
            raise WrongPassword
        new_hash = await self._passwords.hash(change.new_password)
        changed = await self._users.replace_password(user, new_hash, self._clock.now())
        if changed is None:
            raise AuthGeneric
        await self._sessions.end_all(user.id, "password", keep=person.sid)
        return await self._sessions.renew(changed, person.sid, device)

    async def ensure_user(self, email: str, password: str, name: str, role: Role) -> ObjectId:
        """The id of the account at `email`, made when missing and otherwise left as it is (seeding)."""
        email = email.strip().lower()
        found = await self._users.by_email(email)
        if found is None:
            password_hash = await self._passwords.hash(password)
            try:
                found = await self._users.insert(email, password_hash, name, role, self._clock.now())
            except EmailTaken:
                found = _found(await self._users.by_email(email))
        return found.id


def person_from(user: User, sid: str) -> Person:
    """`user` as the person behind a request of the session `sid`."""
    return Person(
        id=user.id,
        email=user.email,
        name=user.name,
        role=user.role,
        sid=sid,
        ai_enabled=user.ai_enabled,
        ai_opt_out=user.ai_opt_out,
    )


def _found(user: User | None) -> User:
    if user is None:
        raise Unauthorized
    return user
