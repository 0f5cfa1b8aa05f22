"""The accounts feature, put together: called once, where the program is assembled."""

from __future__ import annotations

from dataclasses import dataclass

from app.accounts.locks import LeasedLock
from app.accounts.passwords import Passwords
from app.accounts.renewals import Renewals
from app.accounts.repository import UserRepository
from app.accounts.service import AccountsService
from app.accounts.session_repository import LockRepository, RefreshSessionRepository
from app.accounts.sessions import Sessions
from app.accounts.sign_in import SignInService
from app.accounts.tokens import AccessTokens
from app.accounts.user_admin import UserAdminService
from app.core.clock import Clock
from app.core.events import Announcements
from app.core.settings import Settings
from app.mail.port import Mailer


@dataclass(frozen=True, slots=True)
class AccountsFeature:
    """The three services, and what the middleware needs besides."""

    accounts: AccountsService
    sign_in: SignInService
    user_admin: UserAdminService
    tokens: AccessTokens
    renewals: Renewals
    passwords: Passwords


def open_accounts(settings: Settings, clock: Clock, announcements: Announcements, mailer: Mailer) -> AccountsFeature:
    """Needs the documents bound. Before the process ends, await `sign_in.settled()`."""
    users, passwords = UserRepository(), Passwords()
    tokens = AccessTokens(settings.jwt_secret.get_secret_value(), clock)
    sessions = Sessions(users, RefreshSessionRepository(), tokens, announcements, clock)
    lock = LeasedLock(LockRepository(), "admin-roles")
    return AccountsFeature(
        accounts=AccountsService(users, sessions, passwords, clock),
        sign_in=SignInService(users, sessions, passwords, mailer=mailer, clock=clock, public_url=settings.public_url),
        user_admin=UserAdminService(users, sessions, lock, clock),
        tokens=tokens,
        renewals=Renewals(sessions),
        passwords=passwords,
    )
