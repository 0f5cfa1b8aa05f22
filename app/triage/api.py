"""The JSON doors of triage: suggestions for everyone concerned, governance for dispatchers (003 §8.2, D-30)."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from app.accounts.guards import admin_only, may_write, signed_in
from app.accounts.people import Person
from app.core.errors import NotFound
from app.core.ids import parse_id
from app.governance.audit import AuditLog
from app.governance.errors import AiUnavailable
from app.governance.schemas import AgentConfigPublic, AuditPage, PolicyChange, SwitchChange
from app.governance.service import present as present_policy
from app.outbox.schemas import EventStatus
from app.triage.errors import NotFailed, SuggestionDecided
from app.triage.oversight import Oversight
from app.triage.schemas import OutboxPage, Retried, SwitchState, TriageSuggestionPublic, TriggerIn, TriggerOut
from app.triage.service import TriageService
from app.triage.suggestions import SuggestionService, present
from app.web.envelope import Success, answers

PageNumber = Annotated[int, QueryParameter(ge=1, le=100_000)]
PageSize = Annotated[int, QueryParameter(ge=1, le=100)]


class OrderSuggestionsController(Controller):
    path = "/api/v1/work-orders/{order_id:str}/suggestions"
    tags = ("Triage",)
    guards = (signed_in,)

    @get(summary="What triage suggested for this work order, newest first")
    async def of_order(
        self,
        person: NamedDependency[Person],
        suggestions: NamedDependency[SuggestionService],
        order_id: FromPath[str],
    ) -> Success[list[TriageSuggestionPublic]]:
        found = await suggestions.of_order(person.actor, parse_id(order_id))
        return Success(data=[present(suggestion) for suggestion in found])


class SuggestionsController(Controller):
    path = "/api/v1/triage/suggestions/{suggestion_id:str}"
    tags = ("Triage",)
    guards = (signed_in, may_write)

    @post(
        "/apply", opt=answers(SuggestionDecided), status_code=200, summary="Give the work order the suggested priority"
    )
    async def apply(
        self,
        person: NamedDependency[Person],
        suggestions: NamedDependency[SuggestionService],
        suggestion_id: FromPath[str],
    ) -> Success[TriageSuggestionPublic]:
        return Success(data=present(await suggestions.apply(person.actor, parse_id(suggestion_id))))

    @post("/dismiss", opt=answers(SuggestionDecided), status_code=200, summary="Put the suggestion aside")
    async def dismiss(
        self,
        person: NamedDependency[Person],
        suggestions: NamedDependency[SuggestionService],
        suggestion_id: FromPath[str],
    ) -> Success[TriageSuggestionPublic]:
        return Success(data=present(await suggestions.dismiss(person.actor, parse_id(suggestion_id))))

    @post(
        "/undo",
        opt=answers(SuggestionDecided),
        status_code=200,
        summary="Take an applied priority back, if the order has not moved on",
    )
    async def undo(
        self,
        person: NamedDependency[Person],
        suggestions: NamedDependency[SuggestionService],
        suggestion_id: FromPath[str],
    ) -> Success[TriageSuggestionPublic]:
        return Success(data=present(await suggestions.undo(person.actor, parse_id(suggestion_id))))


class AdminAgentsController(Controller):
    path = "/api/v1/admin/agents"
    tags = ("Administration",)
    guards = (admin_only,)

    @get("/triage", summary="The triage policy, and what is switched off since when and by whom")
    async def policy(self, oversight: NamedDependency[Oversight]) -> Success[AgentConfigPublic]:
        return Success(data=present_policy(await oversight.policy()))

    @patch("/triage/config", summary="Change any part of the policy but the kill switch")
    async def change(
        self, person: NamedDependency[Person], oversight: NamedDependency[Oversight], data: JSONBody[PolicyChange]
    ) -> Success[AgentConfigPublic]:
        return Success(data=present_policy(await oversight.change_policy(person.actor, data)))

    @post(
        "/triage/run",
        opt=answers(AiUnavailable, NotFound),
        status_code=200,
        summary="Triage one work order now, under the same policy and budgets",
    )
    async def run(self, triage: NamedDependency[TriageService], data: JSONBody[TriggerIn]) -> Success[TriggerOut]:
        result = await triage.trigger(parse_id(data.work_order_id, "workOrderId"))
        run_id = str(result.run_id) if result.run_id else None
        return Success(data=TriggerOut(outcome=result.outcome, run_id=run_id, reason=result.reason))

    @post("/disable", status_code=200, summary="The kill switch: triage alone, or the copilot with it")
    async def disable(
        self,
        person: NamedDependency[Person],
        oversight: NamedDependency[Oversight],
        data: JSONBody[SwitchChange | None] = None,
    ) -> Success[SwitchState]:
        config = await oversight.switch(person.actor, (data or SwitchChange()).scope, on=False)
        return Success(data=SwitchState(enabled=config.enabled, copilot_enabled=config.copilot_enabled))

    @post("/enable", status_code=200, summary="Switch agents on again; what waited goes on at once")
    async def enable(
        self,
        person: NamedDependency[Person],
        oversight: NamedDependency[Oversight],
        data: JSONBody[SwitchChange | None] = None,
    ) -> Success[SwitchState]:
        config = await oversight.switch(person.actor, (data or SwitchChange()).scope, on=True)
        return Success(data=SwitchState(enabled=config.enabled, copilot_enabled=config.copilot_enabled))

    @get("/outbox", summary="Events that wait, run or have failed, newest first, with counts")
    async def outbox(
        self,
        oversight: NamedDependency[Oversight],
        status: FromQuery[EventStatus | None] = None,
        page: PageNumber = 1,
        limit: PageSize = 20,
    ) -> Success[OutboxPage]:
        return Success(data=await oversight.outbox(status, page, limit))

    @post(
        "/outbox/{event_id:str}/retry",
        opt=answers(NotFailed),
        status_code=200,
        summary="Try a failed event again, with all its attempts",
    )
    async def retry(self, oversight: NamedDependency[Oversight], event_id: FromPath[str]) -> Success[Retried]:
        await oversight.retry(event_id)
        return Success(data=Retried())

    @get("/audit", summary="What dispatchers changed and looked at, newest first")
    async def audit_rows(
        self,
        person: NamedDependency[Person],
        audit: NamedDependency[AuditLog],
        page: PageNumber = 1,
        limit: PageSize = 20,
    ) -> Success[AuditPage]:
        return Success(data=await audit.page(person.actor, page, limit))


API = [OrderSuggestionsController, SuggestionsController, AdminAgentsController]
