"""The pages of signing in and of one's own profile (HTTP-5). The forms work without JavaScript."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency

from app.accounts.admin_pages import AdminUsersPages
from app.accounts.cookies import REFRESH, cleared_cookies, signed_in_cookies
from app.accounts.devices import device_of
from app.accounts.errors import ResetRefused
from app.accounts.forms import Form, parse_form, read_form, refused, refused_status
from app.accounts.limits import SignInLimits
from app.accounts.people import Person
from app.accounts.profile_pages import ProfilePages
from app.accounts.redirects import safe_next
from app.accounts.schemas import ForgotPassword, Login, Register, ResetPassword
from app.accounts.sessions import SignedIn
from app.accounts.sign_in import SignInService
from app.core.errors import AppError
from app.core.settings import Settings
from app.web.limits import RateLimiter
from app.web.pages import Pages, see_other

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]


class SignInPages(Controller):
    include_in_schema = False

    @get("/login")
    async def login_page(self, request: AnyRequest, pages: NamedDependency[Pages]) -> Page:
        return await _entrance(request, pages, "accounts/login.html")

    @post("/login", status_code=200)
    async def login(
        self,
        request: AnyRequest,
        pages: NamedDependency[Pages],
        sign_in: NamedDependency[SignInService],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
    ) -> Page:
        values = await read_form(request)
        try:
            form = parse_form(Login, values)
            await SignInLimits(limiter, settings, request).login()
            signed_in = await sign_in.sign_in(form, device_of(request, settings.trust_proxy_hops))
        except AppError as error:
            return await _again(request, pages, "accounts/login.html", values, error)
        return _enter(signed_in, settings, values.get("next"))

    @get("/register")
    async def register_page(self, request: AnyRequest, pages: NamedDependency[Pages]) -> Page:
        return await _entrance(request, pages, "accounts/register.html")

    @post("/register", status_code=200)
    async def register(
        self,
        request: AnyRequest,
        pages: NamedDependency[Pages],
        sign_in: NamedDependency[SignInService],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
    ) -> Page:
        values = await read_form(request)
        try:
            form = parse_form(Register, values)
            await SignInLimits(limiter, settings, request).register()
            signed_in = await sign_in.register(form, device_of(request, settings.trust_proxy_hops))
        except AppError as error:
            return await _again(request, pages, "accounts/register.html", values, error)
        return _enter(signed_in, settings, values.get("next"))

    @get("/forgot-password")
    async def forgot_page(self, request: AnyRequest, pages: NamedDependency[Pages]) -> Page:
        return await pages.page(request, "accounts/forgot_password.html", form=Form(), sent=False)

    @post("/forgot-password", status_code=200)
    async def forgot(
        self,
        request: AnyRequest,
        pages: NamedDependency[Pages],
        sign_in: NamedDependency[SignInService],
        limiter: NamedDependency[RateLimiter],
        settings: NamedDependency[Settings],
    ) -> Page:
        values = await read_form(request)
        try:
            email = parse_form(ForgotPassword, values).email
            await SignInLimits(limiter, settings, request).forgot(email)
        except AppError as error:
            return await _again(request, pages, "accounts/forgot_password.html", values, error, sent=False)
        sign_in.forgot(email)
        return await pages.page(request, "accounts/forgot_password.html", form=Form(), sent=True)

    @get("/reset-password")
    async def reset_page(self, request: AnyRequest, pages: NamedDependency[Pages]) -> Page:
        token = request.query_params.get("token", "")
        form = Form() if token else refused({}, ResetRefused())
        return await pages.page(request, "accounts/reset_password.html", form=form, token=token)

    @post("/reset-password", status_code=200)
    async def reset(
        self,
        request: AnyRequest,
        pages: NamedDependency[Pages],
        sign_in: NamedDependency[SignInService],
        settings: NamedDependency[Settings],
    ) -> Page:
        values = await read_form(request)
        token = values.pop("token", "")  # a fault of it is told above the form: nobody types it
        try:
            form = parse_form(ResetPassword, values | {"token": token})
            signed_in = await sign_in.reset(form, device_of(request, settings.trust_proxy_hops))
        except AppError as error:
            return await _again(request, pages, "accounts/reset_password.html", values, error, token=token)
        return _enter(signed_in, settings, None)

    @post("/logout", status_code=303)
    async def logout(
        self, request: AnyRequest, sign_in: NamedDependency[SignInService], settings: NamedDependency[Settings]
    ) -> Page:
        await sign_in.sign_out(request.scope.get("user"), request.cookies.get(REFRESH))
        return leave(settings)


async def _entrance(request: AnyRequest, pages: Pages, template: str) -> Page:
    wanted = request.query_params.get("next")
    if isinstance(request.scope.get("user"), Person):
        return see_other(safe_next(wanted))
    return await pages.page(request, template, form=Form(), next=safe_next(wanted) if wanted else None)


async def _again(
    request: AnyRequest, pages: Pages, template: str, values: dict[str, str], error: AppError, **context: Any
) -> Page:
    """The same page with what was typed and what is wrong with it."""
    wanted = values.get("next")
    context |= {"next": safe_next(wanted) if wanted else None}
    status = refused_status(error)
    return await pages.page(
        request, template, status=status, headers=error.headers, form=refused(values, error), **context
    )


def _enter(signed_in: SignedIn, settings: Settings, wanted: str | None) -> Page:
    answer = see_other(safe_next(wanted))
    answer.cookies.extend(signed_in_cookies(signed_in, secure=settings.is_production))
    return answer


def leave(settings: Settings) -> Page:
    """To the sign-in page, without cookies."""
    answer = see_other("/login")
    answer.cookies.extend(cleared_cookies(secure=settings.is_production))
    return answer


PAGES = [SignInPages, ProfilePages, AdminUsersPages]
