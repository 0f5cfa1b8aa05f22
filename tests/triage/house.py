"""Triage in a whole desk: orders go in at the front, and the database is read at the back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bson import ObjectId

from app.accounts.actors import HumanActor
from app.accounts.people import Person
from app.core.mongo import Database
from app.desk import Desk
from app.llm.demo.script import Answer, say
from app.llm.demo.scripted_model import ScriptedModel
from app.triage.service import TriageService
from app.triage.suggestions import SuggestionService
from app.work_orders.schemas import WorkOrderCreate
from tests.conftest import CAST, ShiftedClock


def proposal(**changes: Any) -> dict[str, Any]:
    return {
        "summary": "The pump leaks at its flange.",
        "suggestedPriority": "medium",
        "flagForDispatcher": False,
    } | changes


def propose(**changes: Any) -> Answer:
    """The model answers with this proposal."""
    return say(json.dumps(proposal(**changes)))


@dataclass(frozen=True)
class House:
    desk: Desk
    model: ScriptedModel
    clock: ShiftedClock
    database: Database

    @property
    def triage(self) -> TriageService:
        return self.desk.triage.triage

    @property
    def suggestions(self) -> SuggestionService:
        return self.desk.triage.suggestions

    async def person(self, who: str) -> Person:
        email, password, name, role = CAST[who]
        accounts = self.desk.accounts.accounts
        user_id = await accounts.ensure_user(email, password, name, role)  # type: ignore[arg-type]  # a role
        person = await accounts.active_person(user_id)
        assert person is not None
        return person

    async def actor(self, who: str = "owner") -> HumanActor:
        return (await self.person(who)).actor

    async def opt_out(self, who: str = "owner", **fields: Any) -> None:
        person = await self.person(who)
        await self.database["users"].update_one({"_id": person.id}, {"$set": fields or {"aiOptOut": True}})

    async def order(self, title: str = "Pump P-204 leaks", who: str = "owner", **fields: Any) -> ObjectId:
        order = await self.desk.orders.create(await self.actor(who), WorkOrderCreate(title=title, **fields))
        return ObjectId(order.id)

    async def stored(self, order_id: ObjectId) -> dict[str, Any]:
        found = await self.database["workorders"].find_one({"_id": order_id})
        assert found is not None
        return found

    async def event(self, order_id: ObjectId) -> dict[str, Any]:
        found = await self.database["outboxevents"].find_one({"payloadRef": str(order_id)})
        assert found is not None
        return found

    async def found(self, order_id: ObjectId) -> list[dict[str, Any]]:
        """The order's suggestions as they are stored."""
        return [row async for row in self.database["triagesuggestions"].find({"workOrderId": order_id})]

    async def the(self, order_id: ObjectId) -> dict[str, Any]:
        """The order's one suggestion."""
        rows = await self.found(order_id)
        assert len(rows) == 1
        return rows[0]

    async def runs(self) -> list[dict[str, Any]]:
        """The triage agent's runs, oldest first."""
        cursor = self.database["agentruns"].find({"mode": "autonomous"}).sort("_id", 1)
        return [row async for row in cursor]

    async def calls(self) -> list[dict[str, Any]]:
        return [row async for row in self.database["agenttoolcalls"].find().sort("createdAt", 1)]

    async def policy(self, **fields: Any) -> None:
        """Sets fields of the policy as they lie in the database."""
        await self.desk.governance.triage_policy()
        await self.database["agentconfigs"].update_one({"name": "triage"}, {"$set": fields})

    async def spend(self) -> dict[str, Any]:
        day = f"day:{self.clock.now():%Y-%m-%d}"
        return await self.database["agentspends"].find_one({"key": day}) or {}

    def later(self, **delta: float) -> None:
        self.clock.advance(timedelta(**delta))

    def tomorrow(self) -> None:
        """A minute past the next midnight, UTC."""
        now = self.clock.now()
        midnight = now.replace(hour=0, minute=1, second=0, microsecond=0) + timedelta(days=1)
        self.clock.advance(midnight - now)
