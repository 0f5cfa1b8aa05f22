"""One's own profile: name, AI opt-out, password, signing out everywhere (PROFILE-1..3, AUTH-6)."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency

from app.accounts.cookies import cleared_cookies, signed_in_cookies
from app.accounts.devices import device_of
from app.accounts.forms import Form, parse_form, read_form, refused, refused_status
from app.accounts.guards import signed_in
from app.accounts.people import Person
from app.accounts.schemas import PasswordChange, ProfileChange
from app.accounts.service import AccountsService
from app.accounts.sign_in import SignInService
from app.core.errors import AppError
from app.core.settings import Settings
from app.web.pages import Pages, see_other

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

_DONE = {
    "profile": "Your profile is saved.",
    "password": "Your password is changed. Your other devices are signed out.",
}


class ProfilePages(Controller):
    path = "/app/profile"
    guards = (signed_in,)
    include_in_schema = False

    @get()
    async def profile(
        self, request: AnyRequest, person: NamedDependency[Person], pages: NamedDependency[Pages]
    ) -> Page:
        message = _DONE.get(request.query_params.get("done", ""))
        flash = {"kind": "done", "message": message} if message else None
        return await _profile(request, pages, person, flash=flash)

    @post(status_code=200)
    async def change(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        accounts: NamedDependency[AccountsService],
    ) -> Page:
        values = await read_form(request)
        try:
            await accounts.change_profile(person.id, parse_form(ProfileChange, values))
        except AppError as error:
            return await _profile(
                request, pages, person, status=refused_status(error), form=refused(values, error),
                ai_opt_out="ai_opt_out" in values,
            )  # fmt: skip
        return see_other("/app/profile?done=profile")

    @post("/password", status_code=200)
    async def change_password(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        accounts: NamedDependency[AccountsService],
        settings: NamedDependency[Settings],
    ) -> Page:
        values = await read_form(request)
        try:
            device = device_of(request, settings.trust_proxy_hops)
            renewed = await accounts.change_password(person, parse_form(PasswordChange, values), device)
        except AppError as error:
            status = refused_status(error)
            return await _profile(request, pages, person, status=status, password_form=refused(values, error))
        answer = see_other("/app/profile?done=password")
        answer.cookies.extend(signed_in_cookies(renewed, secure=settings.is_production))
        return answer

    @post("/sign-out-everywhere", status_code=303)
    async def sign_out_everywhere(
        self,
        person: NamedDependency[Person],
        sign_in: NamedDependency[SignInService],
        settings: NamedDependency[Settings],
    ) -> Page:
        await sign_in.sign_out_everywhere(person)
        answer = see_other("/login")
        answer.cookies.extend(cleared_cookies(secure=settings.is_production))
        return answer


async def _profile(request: AnyRequest, pages: Pages, person: Person, *, status: int = 200, **context: Any) -> Page:
    usual: dict[str, Any] = {
        "nav": "profile",
        "form": Form({"name": person.name}),
        "password_form": Form(),
        "ai_opt_out": person.ai_opt_out,
        "ai_allowed": person.ai_enabled,
        "flash": None,
    }
    return await pages.page(request, "accounts/profile.html", status=status, **(usual | context))
