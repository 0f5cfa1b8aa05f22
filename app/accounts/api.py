"""The JSON doors of accounts: `/auth`, `/users/me` (HTTP-2)."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get, patch, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from app.accounts.admin_api import AdminUsersController
from app.accounts.cookies import REFRESH, cleared_cookies, signed_in_cookies
from app.accounts.devices import device_of
from app.accounts.errors import AuthGeneric, EmailTaken, RefreshReuse, ResetRefused, WrongPassword
from app.accounts.guards import signed_in
from app.accounts.limits import SignInLimits
from app.accounts.people import Person
from app.accounts.schemas import (
    Accepted,
    ForgotPassword,
    Login,
    PasswordChange,
    ProfileChange,
    Register,
    ResetPassword,
    UserPublic,
    user_public,
)
from app.accounts.service import AccountsService
from app.accounts.sessions import SignedIn
from app.accounts.sign_in import SignInService
from app.core.errors import Unauthorized
from app.core.settings import Settings
from app.web.envelope import Success, answers
from app.web.limits import RateLimiter

AnyRequest = Request[Any, Any, Any]
Me = Response[Success[UserPublic]]


class AuthController(Controller):
    path = "/api/v1/auth"
    tags = ("Sign-in",)

    @post("/register", opt=answers(EmailTaken), status_code=201, summary="Register a technician's account and sign in")
    async def register(
        self,
        request: AnyRequest,
        data: JSONBody[Register],
        sign_in: NamedDependency[SignInService],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
    ) -> Me:
        await SignInLimits(limiter, settings, request).register()
        return _welcome(await sign_in.register(data, device_of(request, settings.trust_proxy_hops)), settings, 201)

    @post("/login", opt=answers(AuthGeneric), status_code=200, summary="Sign in")
    async def login(
        self,
        request: AnyRequest,
        data: JSONBody[Login],
        sign_in: NamedDependency[SignInService],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
    ) -> Me:
        await SignInLimits(limiter, settings, request).login()
        return _welcome(await sign_in.sign_in(data, device_of(request, settings.trust_proxy_hops)), settings)

    @post(
        "/refresh",
        opt=answers(Unauthorized, RefreshReuse),
        security=[{"refresh": []}],
        status_code=200,
        summary="Renew both cookies from the refresh token",
    )
    async def refresh(
        self, request: AnyRequest, sign_in: NamedDependency[SignInService], settings: NamedDependency[Settings]
    ) -> Me:
        token = request.cookies.get(REFRESH)
        if not token:
            raise Unauthorized
        return _welcome(await sign_in.refresh(token, device_of(request, settings.trust_proxy_hops)), settings)

    @post("/forgot-password", status_code=200, summary="Ask for a reset link by mail")
    async def forgot_password(
        self,
        request: AnyRequest,
        data: JSONBody[ForgotPassword],
        sign_in: NamedDependency[SignInService],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
    ) -> Success[Accepted]:
        await SignInLimits(limiter, settings, request).forgot(data.email)
        sign_in.forgot(data.email)
        return Success(data=Accepted())

    @post(
        "/reset-password",
        opt=answers(ResetRefused),
        status_code=200,
        summary="Set a new password with the token of the mail, and sign in",
    )
    async def reset_password(
        self,
        request: AnyRequest,
        data: JSONBody[ResetPassword],
        sign_in: NamedDependency[SignInService],
        settings: NamedDependency[Settings],
    ) -> Me:
        return _welcome(await sign_in.reset(data, device_of(request, settings.trust_proxy_hops)), settings)

    @post("/logout", status_code=204, summary="End this session")
    async def logout(
        self, request: AnyRequest, sign_in: NamedDependency[SignInService], settings: NamedDependency[Settings]
    ) -> Response[None]:
        await sign_in.sign_out(request.scope.get("user"), request.cookies.get(REFRESH))
        return _goodbye(settings)

    @post("/logout-all", status_code=204, guards=[signed_in], summary="End every session of this person")
    async def logout_all(
        self,
        person: NamedDependency[Person],
        sign_in: NamedDependency[SignInService],
        settings: NamedDependency[Settings],
    ) -> Response[None]:
        await sign_in.sign_out_everywhere(person)
        return _goodbye(settings)


class MeController(Controller):
    path = "/api/v1/users/me"
    tags = ("Profile",)
    guards = (signed_in,)

    @get(summary="The signed-in person")
    async def me(
        self, person: NamedDependency[Person], accounts: NamedDependency[AccountsService]
    ) -> Success[UserPublic]:
        return Success(data=user_public(await accounts.profile(person.id)))

    @patch(summary="Change name or AI opt-out")
    async def change(
        self, person: NamedDependency[Person], data: JSONBody[ProfileChange], accounts: NamedDependency[AccountsService]
    ) -> Success[UserPublic]:
        return Success(data=user_public(await accounts.change_profile(person.id, data)))

    @post(
        "/password",
        opt=answers(WrongPassword),
        status_code=200,
        summary="Change the password; other sessions end, this one goes on",
    )
    async def change_password(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        data: JSONBody[PasswordChange],
        accounts: NamedDependency[AccountsService],
        settings: NamedDependency[Settings],
    ) -> Me:
        device = device_of(request, settings.trust_proxy_hops)
        return _welcome(await accounts.change_password(person, data, device), settings)


def _welcome(signed_in: SignedIn, settings: Settings, status: int = 200) -> Me:
    cookies = signed_in_cookies(signed_in, secure=settings.is_production)
    return Response(Success(data=user_public(signed_in.user)), status_code=status, cookies=cookies)


def _goodbye(settings: Settings) -> Response[None]:
    return Response(None, status_code=204, cookies=cleared_cookies(secure=settings.is_production))


API = [AuthController, MeController, AdminUsersController]
