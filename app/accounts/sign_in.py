"""Registering, signing in and out, and the way back in after a forgotten password (AUTH-1, 2, 6, 7)."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from bson import ObjectId

from app.accounts.background import AfterTheAnswer
from app.accounts.errors import AuthGeneric, ResetRefused
from app.accounts.models import User
from app.accounts.passwords import Passwords
from app.accounts.people import Person
from app.accounts.repository import UserRepository
from app.accounts.schemas import Login, Register, ResetPassword
from app.accounts.sessions import Device, Sessions, SignedIn
from app.core.clock import Clock
from app.core.ids import new_token, token_hash
from app.mail.port import Mailer

RESET_LIFE = timedelta(hours=1)


class SignInService:
    """`public_url` is where people reach the desk: reset links start with it."""

    def __init__(
        self,
        users: UserRepository,
        sessions: Sessions,
        passwords: Passwords,
        *,
        mailer: Mailer,
        clock: Clock,
        public_url: str,
    ) -> None:
        self._users = users
        self._sessions = sessions
        self._passwords = passwords
        self._mailer = mailer
        self._clock = clock
        self._public_url = public_url
        self._background = AfterTheAnswer()

    async def register(self, form: Register, device: Device) -> SignedIn:
        """A new technician, signed in (AUTH-1). Raises `EmailTaken`."""
        password_hash = await self._passwords.hash(form.password)
        user = await self._users.insert(form.email, password_hash, form.name, "user", self._clock.now())
        return await self._sessions.open(user, device)

    async def sign_in(self, form: Login, device: Device) -> SignedIn:
        """A new session (AUTH-2). Raises `AuthGeneric`, after one hash computation in every case."""
        user = await self._users.by_email(form.email)
        matches = await self._passwords.verify(form.password, user.password_hash if user else None)
        if user is None:
            raise AuthGeneric
        if not matches:
            await self._users.record_failure(user.id, self._clock.now())
            raise AuthGeneric
        if not user.may_sign_in(self._clock.now()):
            raise AuthGeneric
        return await self._open(user, form.password, device)

    async def _open(self, user: User, password: str, device: Device) -> SignedIn:
        """The session is stored first: a reset or deactivation at the same moment either finds it, or is found."""
        outdated = self._passwords.is_outdated(user.password_hash)
        new_hash = await self._passwords.hash(password) if outdated else None
        signed_in = await self._sessions.open(user, device)
        if await self._users.complete_sign_in(user, self._clock.now(), new_hash) is None:
            await self._sessions.discard(user.id, [signed_in.sid])
            raise AuthGeneric
        return signed_in

    async def refresh(self, refresh_token: str, device: Device) -> SignedIn:
        """AUTH-4. Raises `Unauthorized` or `RefreshReuse`."""
        return await self._sessions.rotate(refresh_token, device)

    async def sign_out(self, person: Person | None, refresh_token: str | None) -> None:
        """Ends the session of the access token and that of the refresh token, normally the same one (AUTH-6)."""
        ended: set[tuple[ObjectId, str]] = {(person.id, person.sid)} if person else set()
        family = await self._sessions.family_of(refresh_token) if refresh_token else None
        for user_id, sid in ended | ({family} if family else set()):
            await self._sessions.end(user_id, [sid], "logout")

    async def sign_out_everywhere(self, person: Person) -> None:
        """Ends every session of a person (AUTH-6)."""
        await self._sessions.end_all(person.id, "logout-all")

    def forgot(self, email: str) -> None:
        """Mails a reset link to an active account, after the answer: who has an account does not show (AUTH-7)."""
        self._background.start("password-reset-mail", self._mail_reset_link(email))

    async def reset(self, form: ResetPassword, device: Device) -> SignedIn:
        """Sets the new password once, ends every session, signs in (AUTH-7). Raises `ResetRefused`."""
        reset_hash = token_hash(form.token)
        user = await self._users.by_reset(reset_hash, self._clock.now())
        if user is None:
            raise ResetRefused
        new_hash = await self._passwords.hash(form.password)
        changed = await self._users.spend_reset(user, reset_hash, new_hash, self._clock.now())
        if changed is None:
            raise ResetRefused
        await self._sessions.end_all(changed.id, "password")
        return await self._sessions.open(changed, device)

    async def settled(self) -> None:
        """Waits for mails that are on their way (shutdown)."""
        await self._background.finish()

    async def _mail_reset_link(self, email: str) -> None:
        token = new_token()
        user = await self._users.open_reset(email, token_hash(token), self._clock.now() + RESET_LIFE)
        if user is not None:
            link = f"{self._public_url}/reset-password?{urlencode({'token': token})}"
            await self._mailer.send(user.email, "Reset your Work Order Desk password", _reset_text(user.name, link))


def _reset_text(name: str, link: str) -> str:
    return (
        f"Hello {name},\n\n"
        "someone, most likely you, asked to reset the password of your Work Order Desk account.\n"
        "Choose a new one here within an hour; the link works once:\n\n"
        f"{link}\n\n"
        "If it was not you, ignore this message: your password stays as it is.\n"
    )
