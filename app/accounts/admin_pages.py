"""The dispatcher's page of people (ADM-1..5): table, filters and switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.accounts.actors import Role
from app.accounts.forms import parse_form, read_form, refused_status
from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.accounts.schemas import AiChange, RoleChange, StatusChange, UserAdmin
from app.accounts.user_admin import UserAdminService
from app.core.errors import AppError
from app.core.ids import parse_id
from app.web.hx import is_htmx, toast
from app.web.pages import Pages, see_other

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

_PATH = "/app/admin"
_ROLES: dict[str, Role] = {"admin": "admin", "user": "user", "viewer": "viewer"}
_ROLE_WORDS: dict[Role, str] = {"admin": "a dispatcher", "user": "a technician", "viewer": "a viewer"}


@dataclass(frozen=True, slots=True)
class Filters:
    """What the table shows, as in the page's address. What cannot be understood there is left out."""

    search: str | None = None
    role: Role | None = None
    page: int = 1

    @classmethod
    def read(cls, query: dict[str, str]) -> Filters:
        search = "".join(char for char in query.get("search", "") if char.isprintable()).strip()[:64]
        number = query.get("page", "")
        page = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 1
        return cls(search=search or None, role=_ROLES.get(query.get("role", "")), page=max(1, page))

    def address(self) -> str:
        given = {"search": self.search, "role": self.role, "page": self.page if self.page > 1 else None}
        query = urlencode({name: value for name, value in given.items() if value})
        return f"{_PATH}?{query}" if query else _PATH


class AdminUsersPages(Controller):
    path = _PATH
    guards = (admin_only,)
    include_in_schema = False

    @get()
    async def people(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        user_admin: NamedDependency[UserAdminService],
    ) -> Page:
        return await _table(request, pages, user_admin, person, Filters.read(dict(request.query_params)))

    @post("/users/{user_id:str}/role", status_code=200)
    async def change_role(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        user_id: FromPath[str],
        user_admin: NamedDependency[UserAdminService],
    ) -> Page:
        values = await read_form(request)
        try:
            role = parse_form(RoleChange, values).role
            changed = await user_admin.set_role(person.actor, parse_id(user_id), role)
        except AppError as error:
            return await _refused(request, pages, user_admin, person, error)
        return await _done(request, pages, user_admin, person, f"{changed.name} is now {_ROLE_WORDS[changed.role]}.")

    @post("/users/{user_id:str}/status", status_code=200)
    async def change_status(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        user_id: FromPath[str],
        user_admin: NamedDependency[UserAdminService],
    ) -> Page:
        values = await read_form(request)
        try:
            is_active = parse_form(StatusChange, values).is_active
            changed = await user_admin.set_active(person.actor, parse_id(user_id), is_active)
        except AppError as error:
            return await _refused(request, pages, user_admin, person, error)
        return await _done(request, pages, user_admin, person, _status_words(changed))

    @post("/users/{user_id:str}/ai", status_code=200)
    async def change_ai(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        user_id: FromPath[str],
        user_admin: NamedDependency[UserAdminService],
    ) -> Page:
        values = await read_form(request)
        try:
            ai_enabled = parse_form(AiChange, values).ai_enabled
            changed = await user_admin.set_ai(person.actor, parse_id(user_id), ai_enabled)
        except AppError as error:
            return await _refused(request, pages, user_admin, person, error)
        word = "on" if changed.ai_enabled else "off"
        return await _done(request, pages, user_admin, person, f"AI is {word} for {changed.name}.")


def _status_words(changed: UserAdmin) -> str:
    return f"{changed.name} can sign in again." if changed.is_active else f"{changed.name} is deactivated."


async def _table(
    request: AnyRequest,
    pages: Pages,
    user_admin: UserAdminService,
    person: Person,
    filters: Filters,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    problem: str | None = None,
) -> Page:
    users = await user_admin.list(person.actor, page=filters.page, role=filters.role, search=filters.search)
    return await pages.page_or_fragment(
        request,
        "accounts/admin_users.html",
        "accounts/_users_table.html",
        status=status,
        headers=headers,
        nav="people",
        users=users,
        filters=filters,
        problem=problem,
    )


async def _done(request: AnyRequest, pages: Pages, user_admin: UserAdminService, person: Person, message: str) -> Page:
    """The table as it was filtered, with a toast; without htmx back to that page."""
    filters = _filters_of_page(request)
    if not is_htmx(request):
        return see_other(filters.address())
    return await _table(request, pages, user_admin, person, filters, headers=toast(message))


async def _refused(
    request: AnyRequest, pages: Pages, user_admin: UserAdminService, person: Person, error: AppError
) -> Page:
    problem = error.details[0].message if error.details else error.message
    return await _table(
        request, pages, user_admin, person, _filters_of_page(request), status=refused_status(error), problem=problem
    )


def _filters_of_page(request: AnyRequest) -> Filters:
    """The filters of the page that the form stands on."""
    page = request.headers.get("hx-current-url") or request.headers.get("referer", "")
    return Filters.read(dict(parse_qsl(urlsplit(str(page)).query)))
