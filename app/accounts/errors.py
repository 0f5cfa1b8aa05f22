"""What can go wrong with accounts and sign-in (HTTP-2)."""

from __future__ import annotations

from app.core.errors import AppError, ErrorDetail, Unauthorized, ValidationFailed


class AuthGeneric(AppError):
    """One answer for unknown address, wrong password, inactive and locked account (AUTH-2)."""

    code = "AUTH_GENERIC"
    status = 401
    default_message = (
        "The email address and password do not match, or this account cannot sign in right now. "
        "Check both, wait 15 minutes after several failures, or reset your password."
    )


class WrongPassword(AuthGeneric):
    """The current password of someone who is signed in (PROFILE-3)."""

    default_message = "Your current password is not right. Nothing was changed."


class RefreshReuse(Unauthorized):
    """A spent or revoked refresh token came back (AUTH-4)."""

    code = "REFRESH_REUSE"
    default_message = "This session has ended. Sign in again."


class EmailTaken(AppError):
    code = "EMAIL_TAKEN"
    status = 409
    default_message = "This email address already has an account. Sign in, or reset the password."


class ResetRefused(ValidationFailed):
    """An unknown, spent or expired reset token (AUTH-7)."""

    default_message = "This reset link is no longer valid. Ask for a new one."

    def __init__(self) -> None:
        super().__init__(details=[ErrorDetail("token", "Is unknown, used or expired. Ask for a new link.")])
