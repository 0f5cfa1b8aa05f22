"""The JSON doors of user administration (ADM-1..5)."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get, patch
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from app.accounts.actors import Role
from app.accounts.guards import admin_only
from app.accounts.people import Person
from app.accounts.schemas import AiChange, RoleChange, StatusChange, UserAdmin
from app.accounts.user_admin import UserAdminService
from app.core.ids import parse_id
from app.core.schemas import OffsetPage
from app.web.envelope import Success

PageNumber = Annotated[int, QueryParameter(ge=1, le=100_000)]
PageSize = Annotated[int, QueryParameter(ge=1, le=100)]
SearchText = Annotated[str | None, QueryParameter(max_length=64)]


class AdminUsersController(Controller):
    path = "/api/v1/admin/users"
    tags = ("Administration",)
    guards = (admin_only,)

    @get(summary="Everyone with an account, newest first")
    async def users(
        self,
        *,
        person: NamedDependency[Person],
        user_admin: NamedDependency[UserAdminService],
        page: PageNumber = 1,
        limit: PageSize = 20,
        role: FromQuery[Role | None] = None,
        search: SearchText = None,
    ) -> Success[OffsetPage[UserAdmin]]:
        words = (search or "").strip() or None
        return Success(data=await user_admin.list(person.actor, page=page, limit=limit, role=role, search=words))

    @patch("/{user_id:str}/role", summary="Change a role; a demotion ends the person's sessions")
    async def change_role(
        self,
        person: NamedDependency[Person],
        user_id: FromPath[str],
        data: JSONBody[RoleChange],
        user_admin: NamedDependency[UserAdminService],
    ) -> Success[UserAdmin]:
        return Success(data=await user_admin.set_role(person.actor, parse_id(user_id), data.role))

    @patch("/{user_id:str}/status", summary="Activate or deactivate; the latter ends the person's sessions")
    async def change_status(
        self,
        person: NamedDependency[Person],
        user_id: FromPath[str],
        data: JSONBody[StatusChange],
        user_admin: NamedDependency[UserAdminService],
    ) -> Success[UserAdmin]:
        return Success(data=await user_admin.set_active(person.actor, parse_id(user_id), data.is_active))

    @patch("/{user_id:str}/ai", summary="Allow or withhold AI for one person")
    async def change_ai(
        self,
        person: NamedDependency[Person],
        user_id: FromPath[str],
        data: JSONBody[AiChange],
        user_admin: NamedDependency[UserAdminService],
    ) -> Success[UserAdmin]:
        return Success(data=await user_admin.set_ai(person.actor, parse_id(user_id), data.ai_enabled))
