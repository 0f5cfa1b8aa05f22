"""The JSON doors of work orders: `/work-orders`, `/admin/work-orders` (HTTP-2, WO-1..10, ADM)."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Controller, Request, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from app.accounts.askers import READS_PERSON
from app.accounts.guards import admin_or_viewer, asker_of, may_write, signed_in
from app.accounts.people import Person
from app.core.errors import Conflict
from app.core.ids import parse_id
from app.core.schemas import CursorPage
from app.web.envelope import Success, WrittenJson, answers
from app.web.validation import parse
from app.work_orders.presentation import page_json
from app.work_orders.schemas import (
    PAGE_DEFAULT,
    PAGE_MAX,
    SEARCH_MAX,
    ListQuery,
    Priority,
    Status,
    WorkOrderCreate,
    WorkOrderDelete,
    WorkOrderPublic,
    WorkOrderUpdate,
)
from app.work_orders.service import WorkOrderService

AnyRequest = Request[Any, Any, Any]

PageSize = Annotated[int, QueryParameter(ge=1, le=PAGE_MAX, description="How many at most.")]
SearchText = Annotated[
    str | None, QueryParameter(max_length=SEARCH_MAX, description="Part of the title, in any case; never a pattern.")
]
CursorText = Annotated[
    str | None,
    QueryParameter(max_length=500, description="`nextCursor` of the page before. A search may cut a page short."),
]


Page = Response[Success[CursorPage[WorkOrderPublic]]]


class WorkOrdersController(Controller):
    path = "/api/v1/work-orders"
    tags = ("Work orders",)
    guards = (signed_in,)

    @get(opt=READS_PERSON, summary="Your own work orders, newest first")
    async def own(
        self,
        request: AnyRequest,
        orders: NamedDependency[WorkOrderService],
        *,
        status: FromQuery[Status | None] = None,
        priority: FromQuery[Priority | None] = None,
        search: SearchText = None,
        cursor: CursorText = None,
        limit: PageSize = PAGE_DEFAULT,
    ) -> Page:
        wanted = _wanted(status=status, priority=priority, search=search, cursor=cursor, limit=limit)
        _, listed = await orders.list_for(asker_of(request), wanted)
        return WrittenJson(page_json(listed))

    @post(guards=[may_write], status_code=201, summary="Create a work order")
    async def create(
        self,
        person: NamedDependency[Person],
        orders: NamedDependency[WorkOrderService],
        data: JSONBody[WorkOrderCreate],
    ) -> Success[WorkOrderPublic]:
        return Success(data=await orders.create(person.actor, data))

    @get("/{order_id:str}", summary="One work order: its owner, dispatchers and viewers")
    async def one(
        self, person: NamedDependency[Person], orders: NamedDependency[WorkOrderService], order_id: FromPath[str]
    ) -> Success[WorkOrderPublic]:
        return Success(data=await orders.get(person.actor, parse_id(order_id)))

    @patch(
        "/{order_id:str}",
        opt=answers(Conflict),
        guards=[may_write],
        summary="Change fields of exactly the version you saw",
    )
    async def update(
        self,
        person: NamedDependency[Person],
        orders: NamedDependency[WorkOrderService],
        order_id: FromPath[str],
        data: JSONBody[WorkOrderUpdate],
    ) -> Success[WorkOrderPublic]:
        changed = await orders.update(person.actor, parse_id(order_id), data.version, data.changes())
        return Success(data=changed)

    @delete(
        "/{order_id:str}",
        opt=answers(Conflict),
        guards=[may_write],
        status_code=204,
        summary="Delete exactly the version you saw",
    )
    async def remove(
        self,
        person: NamedDependency[Person],
        orders: NamedDependency[WorkOrderService],
        order_id: FromPath[str],
        data: JSONBody[WorkOrderDelete],
    ) -> None:
        await orders.remove(person.actor, parse_id(order_id), data.version)


class AdminWorkOrdersController(Controller):
    path = "/api/v1/admin/work-orders"
    tags = ("Administration",)
    guards = (admin_or_viewer,)

    @get(opt=READS_PERSON, summary="Everyone's work orders, newest first")
    async def everyones(
        self,
        request: AnyRequest,
        orders: NamedDependency[WorkOrderService],
        *,
        status: FromQuery[Status | None] = None,
        priority: FromQuery[Priority | None] = None,
        search: SearchText = None,
        cursor: CursorText = None,
        limit: PageSize = PAGE_DEFAULT,
    ) -> Page:
        wanted = _wanted(status=status, priority=priority, search=search, cursor=cursor, limit=limit)
        _, listed = await orders.list_for(asker_of(request), wanted, everyones=True)
        return WrittenJson(page_json(listed))


def _wanted(**given: Any) -> ListQuery:
    return parse(ListQuery, given)


API = [WorkOrdersController, AdminWorkOrdersController]
