"""What a custom tool may ask of the desk: questions of the caller's own, each through the gate (T-7, T-11, T-15).

A tool is another agent: its calls are delegated, and nobody is there to be asked for a confirmation.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pydantic import ValidationError

from app.accounts.actors import HumanActor
from app.accounts.service import AccountsService
from app.core.errors import Forbidden, NotFound
from app.tools.arguments import Arguments
from app.tools.gate import CallContext
from app.tools.gatekeeper import Gatekeeper
from app.tools.policy import Tier
from app.tools.sandbox.narrow_client import Answer
from app.tools.tool import ReadTool, ToolFault
from app.work_orders.schemas import OrderFilter
from app.work_orders.service import WorkOrderService

MOST_ORDERS = 100

Answering = Callable[[HumanActor, dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Question:
    """`judged_as` is the desk's own tool for the same data: what the gate says of it holds here too."""

    judged_as: ReadTool
    arguments: Callable[[dict[str, Any]], dict[str, Any]]
    answer: Answering


class ToolClient:
    """Answers for one caller at a time. `request` is there where the desk has connections."""

    def __init__(
        self,
        gatekeeper: Gatekeeper,
        *,
        lists_orders: ReadTool,
        gets_profile: ReadTool,
        request: ReadTool | None,
        accounts: AccountsService,
        orders: WorkOrderService,
    ) -> None:
        self._gatekeeper = gatekeeper
        self._accounts = accounts
        self._orders = orders
        self._questions = {
            "list_orders": Question(lists_orders, dict, self._list),
            "get_order": Question(lists_orders, lambda _: {}, self._order),
            "whoami": Question(gets_profile, lambda _: {}, self._whoami),
        }
        if request is not None:
            self._request_tool = request
            self._questions["request"] = Question(request, dict, self._request)

    def answering(self, actor: HumanActor) -> Answer:
        """The door for one run of a tool. Its answers raise `AppError`, whose words the tool gets."""

        async def answer(name: str, params: dict[str, Any]) -> Any:
            question = self._questions.get(name)
            if question is None:
                raise NotFound("The desk does not answer this.")
            await self._judge(question, actor, params)
            return await question.answer(actor, params)

        return answer

    async def _judge(self, question: Question, actor: HumanActor, params: dict[str, Any]) -> None:
        """Raises `Forbidden` unless the gate lets it run without a word from anybody."""
        tool = question.judged_as
        try:
            args: Arguments = tool.arguments.model_validate(question.arguments(params))
        except ValidationError:
            raise Forbidden("The question is not valid.") from None
        decision = await self._gatekeeper.judge(
            tool, args, CallContext("copilot", actor.role, by="tool", delegated=True)
        )
        if decision.blocked is not None:
            raise Forbidden(decision.blocked)
        if decision.tier > Tier.AUTO or decision.mutates:
            raise Forbidden(f"A tool may not do this by itself: {decision.denial}")

    async def _list(self, actor: HumanActor, params: dict[str, Any]) -> Any:
        """The caller's newest, without their descriptions."""
        page = await self._orders.list_own(actor, OrderFilter.model_validate(params), None, MOST_ORDERS)
        return [order.model_dump(mode="json", by_alias=True, exclude={"owner", "description"}) for order in page.items]

    async def _order(self, actor: HumanActor, params: dict[str, Any]) -> Any:
        """The caller's own only, whatever their role could see."""
        order = await self._orders.get(actor, ObjectId(params["id"]))
        if order.owner.id != str(actor.id):
            raise NotFound("There is no such work order.")
        return order.model_dump(mode="json", by_alias=True, exclude={"owner"})

    async def _whoami(self, actor: HumanActor, params: dict[str, Any]) -> Any:  # noqa: ARG002 - takes nothing
        profile = await self._accounts.profile(actor.id)
        return {"name": profile.name, "role": profile.role}

    async def _request(self, actor: HumanActor, params: dict[str, Any]) -> Any:
        """`{status, body}` of a GET; what changes something was refused by the gate."""
        args = self._request_tool.arguments.model_validate(params)
        try:
            return json.loads((await self._request_tool.read(actor, args)).text)
        except ToolFault as fault:
            raise Forbidden(fault.message) from None
