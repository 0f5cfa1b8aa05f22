"""The copilot's writes: staged with the order as read, shown, then executed once through the orders' own service.

Creations use an id fixed when they are staged; updates and deletions leave the call's mark in the order (D-5).
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.core.errors import Forbidden
from app.core.ids import derived_id
from app.tools.arguments import Arguments, CreateArguments, DeleteArguments, UpdateArguments
from app.tools.policy import Risk, ToolPolicy
from app.tools.tool import Executed, GoneTarget, Staged, StaleTarget, ToolFault
from app.tools.words import summary_of_changes, summary_of_creation, summary_of_deletion
from app.work_orders.errors import OrderNotFound
from app.work_orders.outcomes import AlreadyApplied, StaleOrder
from app.work_orders.schemas import FIELDS, Mark, WorkOrderCreate, WorkOrderFields, WorkOrderPublic
from app.work_orders.service import WorkOrderService

_WRITERS = frozenset({"admin", "user"})


def _write_policy(name: str, risk: Risk) -> ToolPolicy:
    return ToolPolicy(name=name, risk=risk, mutates=True, roles=_WRITERS)


def _mark(call_id: ObjectId) -> Mark:
    return Mark(str(call_id), "copilot")


def _wire(order: WorkOrderPublic) -> dict[str, Any]:
    return order.model_dump(mode="json", by_alias=True)


def _brief(order: WorkOrderPublic) -> dict[str, Any]:
    """What an executed write tells the model and the client, as the original desk did."""
    whole = _wire(order)
    return {key: whole[key] for key in ("id", "title", "description", "priority", "status", "version", "updatedAt")}


class CreateWorkOrder:
    """`create_work_order`."""

    policy = _write_policy("create_work_order", Risk.WRITE)
    description = "Draft a new work order. The person sees it and decides; nothing is created before."
    arguments: ClassVar[type[Arguments]] = CreateArguments

    def __init__(self, orders: WorkOrderService) -> None:
        self._orders = orders

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:  # noqa: ARG002
        shown = args.model_dump(mode="json", exclude_none=True)  # with defaults: what is shown is what runs
        return Staged(shown, derived_id("order", str(call_id)), None, None, shown, summary_of_creation(shown))

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:
        fields = WorkOrderCreate.model_validate(staged.args)
        try:
            order = await self._orders.create(actor, fields, order_id=staged.target, mark=_mark(call_id))
        except AlreadyApplied as applied:
            return _applied(applied, staged)
        return Executed(_brief(order), order.version)


class UpdateWorkOrder:
    """`update_work_order`."""

    policy = _write_policy("update_work_order", Risk.WRITE)
    description = (
        "Draft a change of one work order that a tool result of this conversation turn named."
        " The person sees before and after, and decides."
    )
    arguments: ClassVar[type[Arguments]] = UpdateArguments

    def __init__(self, orders: WorkOrderService) -> None:
        self._orders = orders

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:  # noqa: ARG002
        frozen = cast("UpdateArguments", args).frozen_args()
        order = await _target(self._orders, actor, frozen["id"])
        wanted = {name: frozen[name] for name in FIELDS if name in frozen}
        changes = {name: value for name, value in wanted.items() if getattr(order, name) != value}
        if not changes:
            raise ToolFault("The work order has these values already; there is nothing to change.")
        summary = summary_of_changes(order, changes)
        return Staged(frozen, ObjectId(order.id), order.version, _wire(order), changes, summary)

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:
        changes = WorkOrderFields.model_validate({k: v for k, v in staged.args.items() if k != "id"}).changes()
        try:
            order = await self._orders.update(actor, staged.target, staged.version or 0, changes, mark=_mark(call_id))
        except AlreadyApplied as applied:
            return _applied(applied, staged)
        except StaleOrder:
            raise StaleTarget from None
        except OrderNotFound:
            raise GoneTarget from None
        return Executed(_brief(order), order.version)


class DeleteWorkOrder:
    """`delete_work_order`."""

    policy = _write_policy("delete_work_order", Risk.DESTRUCTIVE)
    description = (
        "Draft the deletion of one work order that a tool result of this conversation turn named."
        " The person sees the whole order, and decides."
    )
    arguments: ClassVar[type[Arguments]] = DeleteArguments

    def __init__(self, orders: WorkOrderService) -> None:
        self._orders = orders

    async def stage(self, actor: HumanActor, args: Arguments, call_id: ObjectId) -> Staged:  # noqa: ARG002
        frozen = args.frozen_args()
        order = await _target(self._orders, actor, frozen["id"])
        return Staged(
            frozen, ObjectId(order.id), order.version, _wire(order), {"deleted": True}, summary_of_deletion(order.title)
        )

    async def execute(self, actor: HumanActor, staged: Staged, call_id: ObjectId) -> Executed:
        try:
            await self._orders.remove(actor, staged.target, staged.version or 0, mark=_mark(call_id))
        except AlreadyApplied as applied:
            return _applied(applied, staged)
        except StaleOrder:
            raise StaleTarget from None
        except OrderNotFound:
            raise GoneTarget from None
        return Executed({"id": str(staged.target), "deleted": True}, (staged.version or 0) + 1)


async def _target(orders: WorkOrderService, actor: HumanActor, order_id: str) -> WorkOrderPublic:
    """The order to change, read anew. Another person's looks as if it were not there (WO-10)."""
    try:
        return await orders.get(actor, ObjectId(order_id))
    except (OrderNotFound, Forbidden):
        raise GoneTarget from None


def _applied(applied: AlreadyApplied, staged: Staged) -> Executed:
    """The effect is in the order already: tell it as it was meant (D-5)."""
    result = _brief(applied.current) if applied.current else {"id": str(staged.target), "deleted": True}
    return Executed(result, applied.version)
