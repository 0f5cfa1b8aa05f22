"""The pages of work orders: lists, one order, and the forms that change it (HTTP-5). They work without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from app.accounts.askers import READS_PERSON
from app.accounts.forms import Form, read_form, refused, refused_status
from app.accounts.guards import admin_or_viewer, asker_of, may_write, signed_in
from app.accounts.people import Person
from app.core.errors import Conflict, NotFound, ValidationFailed
from app.core.ids import parse_id
from app.web.pages import Pages, pages_of, see_other
from app.web.validation import parse
from app.work_orders import forms
from app.work_orders.conflicts import merge
from app.work_orders.presentation import page
from app.work_orders.schemas import ListQuery, OrderPage, WorkOrderDetail
from app.work_orders.service import WorkOrderService

AnyRequest = Request[Any, Any, Any]
Page = Response[Any]

OWN, EVERYONES = "/app/work-orders", "/app/admin/work-orders"

_DONE = {
    "created": "Work order created.",
    "saved": "Your changes are saved.",
    "deleted": "Work order deleted.",
    "undone": "Undone. It is as it was before.",
}
_CHANGED = "This work order was changed meanwhile. Look at it as it is now, then decide again."
_NOT_DELETED = (
    "This work order was changed meanwhile and is still there, as below. Cancel leads back, to delete it anyway."
)


class WorkOrderPages(Controller):
    path = OWN
    guards = (signed_in,)
    include_in_schema = False

    @get(opt=READS_PERSON)
    async def own(self, request: AnyRequest, orders: NamedDependency[WorkOrderService]) -> Page:
        wanted = parse(ListQuery, _last_of_each(request))
        request.scope["user"], found = await orders.list_for(asker_of(request), wanted)
        where = {"path": OWN, "with_owner": False, "nav": "orders"}
        return await _list(request, "work_orders/list.html", wanted=wanted, found=page(found), **where)

    @get("/new", guards=[may_write])
    async def new(self, request: AnyRequest, pages: NamedDependency[Pages]) -> Page:
        return await pages.page(request, "work_orders/new.html", nav="new", form=forms.EMPTY)

    @post("/new", guards=[may_write], status_code=200)
    async def create(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        orders: NamedDependency[WorkOrderService],
    ) -> Page:
        values = await read_form(request)
        try:
            order = await orders.create(person.actor, forms.creation(values))
        except ValidationFailed as error:
            form, status = refused(values, error), refused_status(error)
            return await pages.page(request, "work_orders/new.html", status=status, nav="new", form=form)
        return see_other(f"{OWN}/{order.id}?done=created")

    @get("/{order_id:str}")
    async def one(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        orders: NamedDependency[WorkOrderService],
        order_id: FromPath[str],
    ) -> Page:
        order = await orders.detail(person.actor, parse_id(order_id))
        return await _order(request, pages, person, order, editing="edit" in request.query_params)

    @post("/{order_id:str}", guards=[may_write], status_code=200)
    async def update(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        orders: NamedDependency[WorkOrderService],
        order_id: FromPath[str],
    ) -> Page:
        values = await read_form(request)
        seen = forms.version(values)
        try:
            given = forms.change(values)
            await orders.update(person.actor, parse_id(order_id), seen, given.changes())
        except (ValidationFailed, Conflict) as error:
            order = await orders.detail(person.actor, parse_id(order_id))
            if isinstance(error, Conflict):
                return await _edit_conflict(request, pages, person, order, values=values, seen=seen)
            order = order.model_copy(update={"version": seen})  # the form goes on from what the person saw
            form, status = refused(values, error), refused_status(error)
            return await _order(request, pages, person, order, status=status, editing=True, form=form)
        return see_other(f"{OWN}/{order_id}?done=saved")

    @post("/{order_id:str}/delete", guards=[may_write], status_code=200)
    async def remove(
        self,
        request: AnyRequest,
        person: NamedDependency[Person],
        pages: NamedDependency[Pages],
        orders: NamedDependency[WorkOrderService],
        order_id: FromPath[str],
    ) -> Page:
        seen = forms.version(await read_form(request))
        back = await _list_of(person, orders, order_id)
        try:
            await orders.remove(person.actor, parse_id(order_id), seen)
        except Conflict:
            order = await orders.detail(person.actor, parse_id(order_id))
            form = Form(forms.filled(order).values, {}, _NOT_DELETED)
            return await _order(request, pages, person, order, status=409, editing=True, form=form)
        return see_other(f"{back}?done=deleted")


class AllOrdersPage(Controller):
    path = EVERYONES
    guards = (admin_or_viewer,)
    include_in_schema = False

    @get(opt=READS_PERSON)
    async def everyones(self, request: AnyRequest, orders: NamedDependency[WorkOrderService]) -> Page:
        wanted = parse(ListQuery, _last_of_each(request))
        request.scope["user"], found = await orders.list_for(asker_of(request), wanted, everyones=True)
        where = {"path": EVERYONES, "with_owner": True, "nav": "all_orders"}
        return await _list(request, "work_orders/admin_list.html", wanted=wanted, found=page(found), **where)


async def _list(request: AnyRequest, template: str, *, wanted: ListQuery, found: OrderPage, **where: Any) -> Page:
    return await pages_of(request).page_or_fragment(
        request,
        template,
        "work_orders/_list.html",
        orders=found,
        filters=wanted,
        cursor=wanted.cursor,
        flash=_flash(request),
        **where,
    )


async def _order(
    request: AnyRequest, pages: Pages, person: Person, order: WorkOrderDetail, *, status: int = 200, **context: Any
) -> Page:
    can_edit = person.role == "admin" or (person.role == "user" and order.owner.id == str(person.id))
    usual: dict[str, Any] = {
        "nav": "orders" if order.owner.id == str(person.id) else "all_orders",
        "order": order,
        "can_edit": can_edit,
        "form": forms.filled(order),
        "conflict": [],
        "flash": _flash(request),
    }
    context["editing"] = context.get("editing", False) and can_edit
    return await pages.page(request, "work_orders/detail.html", status=status, **(usual | context))


async def _edit_conflict(
    request: AnyRequest, pages: Pages, person: Person, order: WorkOrderDetail, *, values: Mapping[str, str], seen: int
) -> Page:
    """409: the form keeps what the person typed and now stands over the present version (WO-6)."""
    conflict = merge(order, values, seen, order.history)
    form = Form(conflict.values, {}, None if conflict.rows else _CHANGED)
    return await _order(request, pages, person, order, status=409, editing=True, form=form, conflict=conflict.rows)


async def _list_of(person: Person, orders: WorkOrderService, order_id: str) -> str:
    """The list that a person who deletes an order came from: their own, or everyone's."""
    if person.role != "admin":
        return OWN
    try:
        order = await orders.get(person.actor, parse_id(order_id))
    except NotFound:
        return EVERYONES
    return OWN if order.owner.id == str(person.id) else EVERYONES


def _flash(request: AnyRequest) -> dict[str, str] | None:
    message = _DONE.get(request.query_params.get("done", ""))
    return {"kind": "done", "message": message} if message else None


def _last_of_each(request: AnyRequest) -> dict[str, str]:
    """A form may send a field twice (a chip and a box): the last one counts."""
    return {name: values[-1] for name, values in request.query_params.dict().items() if values}


PAGES = [WorkOrderPages, AllOrdersPage]
