"""What triage suggested lately, each suggestion with its order as it stands now: the ground of replay and agreement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.triage.models import TriageSuggestion
from app.triage.repository import SuggestionRepository
from app.work_orders.schemas import Standing
from app.work_orders.service import WorkOrderService

MOST = 5_000
"""How many suggestions are looked at; beyond that the newest ones speak for all."""

_BATCH = 500


@dataclass(frozen=True, slots=True)
class PastSuggestion:
    """`standing` is None when the order is not in the database any more."""

    suggestion: TriageSuggestion
    standing: Standing | None


class PastSuggestions:
    """Reads in batches; two queries each."""

    def __init__(self, suggestions: SuggestionRepository, orders: WorkOrderService) -> None:
        self._suggestions = suggestions
        self._orders = orders

    async def since(self, moment: datetime) -> list[PastSuggestion]:
        """Newest first, at most `MOST`."""
        found: list[PastSuggestion] = []
        while len(found) < MOST:
            batch = await self._suggestions.since(moment, len(found), _BATCH)
            standing = await self._orders.standing([one.work_order_id for one in batch])
            found += [PastSuggestion(one, standing.get(one.work_order_id)) for one in batch]
            if len(batch) < _BATCH:
                break
        return found
