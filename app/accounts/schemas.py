"""Shapes of accounts on the wire (HTTP-3), and the rules of what people type (AUTH-1)."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Protocol, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from app.accounts.actors import Role
from app.core.schemas import Moment, Strict, Text, Wire

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_EMAIL = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})+\Z")
"""What browsers accept in an email field, with at least one dot in the domain. No look-up."""


def _email(value: str) -> str:
    lowered = value.lower()
    if not _EMAIL.match(lowered):
        raise ValueError("Is not an email address. Write it like name@example.com.")
    return lowered


def _strong(value: str) -> str:
    if not any(char.isalpha() for char in value) or not any(char.isdigit() for char in value):
        raise ValueError("Must hold at least one letter and one digit.")
    return value


def _typed(value: str) -> str:
    """A password is taken as typed, neither trimmed nor normalised; only what cannot be encoded is refused."""
    if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError("Contains a character that cannot be used.")
    return value


Email = Annotated[Text, Field(max_length=255), AfterValidator(_email)]
PersonName = Annotated[Text, Field(min_length=1, max_length=80)]
NewPassword = Annotated[str, Field(min_length=8, max_length=72), AfterValidator(_typed), AfterValidator(_strong)]
GivenPassword = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_typed)]
"""A password to compare: its form says nothing, so that an old one is still heard."""


class _Secretive(Strict):
    model_config = ConfigDict(hide_input_in_errors=True)


class Register(_Secretive):
    """AUTH-1."""

    email: Email
    password: NewPassword = Field(repr=False)
    name: PersonName


class Login(_Secretive):
    """AUTH-2."""

    email: Email
    password: GivenPassword = Field(repr=False)


class ForgotPassword(Strict):
    """AUTH-7."""

    email: Email


class ResetPassword(_Secretive):
    """AUTH-7: `token` from the mail."""

    token: str = Field(min_length=1, max_length=200, repr=False)
    password: NewPassword = Field(repr=False)


class ProfileChange(Strict):
    """PROFILE-2: at least one of both; what was not given is not in `model_fields_set`."""

    name: PersonName = ""
    ai_opt_out: bool = False

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("Give name, aiOptOut or both.")
        return self


class PasswordChange(_Secretive):
    """PROFILE-3."""

    current_password: GivenPassword = Field(repr=False)
    new_password: NewPassword = Field(repr=False)


class RoleChange(Strict):
    role: Role


class StatusChange(Strict):
    is_active: bool


class AiChange(Strict):
    ai_enabled: bool


class Accepted(Wire):
    """`{ok: true}`: heard, and nothing more is told (AUTH-7)."""

    ok: bool = True


class UserPublic(Wire):
    """A person as they see themselves (HTTP-3)."""

    id: str
    email: str
    name: str
    role: Role
    created_at: Moment
    updated_at: Moment


class UserAdmin(UserPublic):
    """A person as a dispatcher sees them (HTTP-3)."""

    is_active: bool
    last_login_at: Moment | None
    ai_enabled: bool


class Account(Protocol):
    """What both shapes are made from: the stored person. (A shape knows no document.)"""

    id: Any
    email: str
    name: str
    role: Role
    created_at: datetime
    updated_at: datetime
    is_active: bool
    last_login_at: datetime | None
    ai_enabled: bool


def user_public(user: Account) -> UserPublic:
    return UserPublic(
        id=str(user.id),
        email=user.email,
        name=user.name,
        role=user.role,
        created_at=user.created_at,
        updated_at=user.updated_at,
    )


def user_admin(user: Account) -> UserAdmin:
    return UserAdmin(
        **dict(user_public(user)),
        is_active=user.is_active,
        last_login_at=user.last_login_at,
        ai_enabled=user.ai_enabled,
    )
