"""The copilot's reads of work orders and of the desk (003 §4.2). Owner-scoped, but for the dispatcher's."""

from __future__ import annotations

import json
from typing import Any, ClassVar, cast

from app.accounts.actors import HumanActor
from app.accounts.schemas import user_public
from app.accounts.service import AccountsService
from app.accounts.user_admin import UserAdminService
from app.core.schemas import CursorPage
from app.tools.arguments import AdminUsersArguments, Arguments, ListArguments, NoArguments, SearchArguments
from app.tools.policy import Risk, ToolPolicy
from app.tools.tool import ReadResult
from app.tools.trimming import MAX_ORDERS, orders_text
from app.work_orders.schemas import OrderFilter, WorkOrderPublic
from app.work_orders.service import WorkOrderService

_ADMIN = frozenset({"admin"})


def _read_policy(name: str, roles: frozenset[str] | None = None) -> ToolPolicy:
    policy = ToolPolicy(name=name, risk=Risk.READ, mutates=False)
    return policy if roles is None else ToolPolicy(name=name, risk=Risk.READ, mutates=False, roles=roles)


def _orders(page: CursorPage[WorkOrderPublic]) -> ReadResult:
    items = [item.model_dump(mode="json", by_alias=True) for item in page.items]
    text = orders_text(items)
    shown = cast("list[dict[str, Any]]", json.loads(text))  # only what the model was shown counts as seen
    return ReadResult(text, found=len(shown), reads={order["id"]: order["version"] for order in shown})


class ListMyWorkOrders:
    """`list_my_work_orders`."""

    policy = _read_policy("list_my_work_orders")
    description = "The person's own work orders, newest first, 10 at most. Narrow by status, priority or title."
    arguments: ClassVar[type[Arguments]] = ListArguments

    def __init__(self, orders: WorkOrderService) -> None:
        self._orders = orders

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:
        chosen = OrderFilter.model_validate(args.model_dump())
        return _orders(await self._orders.list_own(actor, chosen, None, MAX_ORDERS))


class SearchMyWorkOrders:
    """`search_my_work_orders`."""

    policy = _read_policy("search_my_work_orders")
    description = "The person's own work orders whose title contains a text, newest first, 10 at most."
    arguments: ClassVar[type[Arguments]] = SearchArguments

    def __init__(self, orders: WorkOrderService) -> None:
        self._orders = orders

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:
        chosen = OrderFilter.model_validate(args.model_dump())
        return _orders(await self._orders.list_own(actor, chosen, None, MAX_ORDERS))


class AdminListWorkOrders:
    """`admin_list_work_orders`."""

    policy = _read_policy("admin_list_work_orders", _ADMIN)
    description = "Everyone's work orders, newest first, 10 at most. Narrow by status, priority or title."
    arguments: ClassVar[type[Arguments]] = ListArguments

    def __init__(self, orders: WorkOrderService) -> None:
        self._orders = orders

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:
        chosen = OrderFilter.model_validate(args.model_dump())
        return _orders(await self._orders.list_all(actor, chosen, None, MAX_ORDERS))


class GetProfile:
    """`get_profile`."""

    policy = _read_policy("get_profile")
    description = "The person's own name, email and role."
    arguments: ClassVar[type[Arguments]] = NoArguments

    def __init__(self, accounts: AccountsService) -> None:
        self._accounts = accounts

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:  # noqa: ARG002 - takes nothing
        profile = user_public(await self._accounts.profile(actor.id))
        return ReadResult(profile.model_dump_json(by_alias=True))


class AdminListUsers:
    """`admin_list_users`."""

    policy = _read_policy("admin_list_users", _ADMIN)
    description = "The people of this desk, 10 at most. Narrow by name, email or role."
    arguments: ClassVar[type[Arguments]] = AdminUsersArguments

    def __init__(self, users: UserAdminService) -> None:
        self._users = users

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:
        wanted = cast("AdminUsersArguments", args)
        page = await self._users.list(actor, page=1, limit=MAX_ORDERS, role=wanted.role, search=wanted.search)
        users = [user.model_dump(mode="json", by_alias=True) for user in page.items]
        return ReadResult(json.dumps(users, ensure_ascii=False, separators=(",", ":")), found=page.total)


class AdminMetrics:
    """`admin_metrics`."""

    policy = _read_policy("admin_metrics", _ADMIN)
    description = "How many people and work orders this desk has."
    arguments: ClassVar[type[Arguments]] = NoArguments

    def __init__(self, accounts: AccountsService, orders: WorkOrderService) -> None:
        self._accounts = accounts
        self._orders = orders

    async def read(self, actor: HumanActor, args: Arguments) -> ReadResult:  # noqa: ARG002 - takes nothing
        counts = {"users": await self._accounts.count(), "workOrders": await self._orders.count()}
        return ReadResult(json.dumps(counts))
