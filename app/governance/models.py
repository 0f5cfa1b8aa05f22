"""What governs the agents: the triage policy, its audit, the spend of each day (003 §9)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from beanie import Document, PydanticObjectId
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pymongo import ASCENDING, DESCENDING, IndexModel

_CONFIG = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")

CHAINED = {"seq": {"$gt": 0}}
"""Which rows of `agentconfigaudits` the chain holds: those of an older desk have no `seq` and precede it (D-20)."""


class PendingAudit(BaseModel):
    """The audit row of a change, carried by the change itself until the chain has it (D-20). `id` becomes its `_id`."""

    model_config = _CONFIG
    id: PydanticObjectId
    actor_id: str
    action: str
    before: dict[str, Any]
    after: dict[str, Any]
    at: datetime


class RaisedTier(BaseModel):
    """A tool or endpoint that an admin raised above what its rules ask for; who and when is in the audit trail."""

    model_config = _CONFIG
    name: str
    tier: str


class AgentConfig(Document):
    """The policy of one agent; `triage` is the only one (AGT-3). `copilot_enabled` is the wider kill switch (D-18).

    The row named `tools` holds the raised tiers alone.

    `switched_at` and `switched_by` tell of `enabled`, `copilot_switched_…` of the wider one. `revision` counts changes.
    """

    model_config = _CONFIG
    name: str
    enabled: bool = True
    copilot_enabled: bool = True
    mode: Literal["suggest", "auto-apply"] = "suggest"
    allowed_fields: list[str] = Field(default_factory=lambda: ["priority"])
    daily_action_cap: int = 200
    flag_threshold: Literal["low", "medium", "high"] = "high"
    working_hours: str = "*"
    apply_direction: Literal["both", "raise"] = "both"
    switched_at: datetime | None = None
    switched_by: str | None = None
    copilot_switched_at: datetime | None = None
    copilot_switched_by: str | None = None
    raised_tiers: list[RaisedTier] = Field(default_factory=list)
    revision: int = 0
    pending_audit: PendingAudit | None = None
    updated_by: str | None = None
    updated_at: datetime
    created_at: datetime

    class Settings:
        name = "agentconfigs"
        indexes: ClassVar[list[IndexModel]] = [IndexModel([("name", ASCENDING)], name="name", unique=True)]


class AgentConfigAudit(Document):
    """One row of the audit trail (SEC-13). `prev` is the HMAC of the row before, `hmac` covers all of this one."""

    model_config = _CONFIG
    agent_name: str
    actor_id: str
    action: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    created_at: datetime
    seq: int | None = None
    prev: str | None = None
    hmac: str | None = None

    class Settings:
        name = "agentconfigaudits"
        indexes: ClassVar[list[IndexModel]] = [
            IndexModel([("seq", ASCENDING)], name="chain", unique=True, partialFilterExpression=CHAINED),
            IndexModel([("createdAt", DESCENDING), ("seq", DESCENDING)], name="newest"),
        ]


class OpenReservation(BaseModel):
    """Money set aside for a provider call that has not ended."""

    model_config = _CONFIG
    user: str | None = None
    agent: str | None = None
    amount: float
    at: datetime


class AgentSpend(Document):
    """One UTC day's spend, every scope in one document, so that a reservation is one conditional update (D-10)."""

    model_config = _CONFIG
    key: str
    spent_usd: float = 0.0
    users: dict[str, float] = Field(default_factory=dict)
    agents: dict[str, float] = Field(default_factory=dict)
    actions: dict[str, int] = Field(default_factory=dict)
    open: dict[str, OpenReservation] = Field(default_factory=dict)

    class Settings:
        name = "agentspends"
        indexes: ClassVar[list[IndexModel]] = [IndexModel([("key", ASCENDING)], name="key", unique=True)]
