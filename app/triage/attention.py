"""The dispatcher's attention list: flagged suggestions that nobody acted on yet (AGT-6). It is derived, not kept.

What is found to be acted on is marked, so that it is looked up once: that never becomes untrue again.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.accounts.actors import Actor
from app.core.clock import Clock
from app.core.schemas import OffsetPage
from app.governance.access import require_admin
from app.triage.models import TriageSuggestion
from app.triage.repository import SuggestionRepository
from app.triage.schemas import AttentionItemPublic
from app.triage.suggestions import present
from app.work_orders.schemas import HistoryMark, Standing, WorkOrderPublic
from app.work_orders.service import WorkOrderService

_BATCH = 100
_MOST = 1_000
_ACTS = frozenset({"priority", "status"})


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """A flagged suggestion and its order, as both are now."""

    suggestion: TriageSuggestion
    order: WorkOrderPublic


class AttentionList:
    """Bounded: `_MOST` items are enough for a person."""

    def __init__(self, suggestions: SuggestionRepository, orders: WorkOrderService, clock: Clock) -> None:
        self._suggestions = suggestions
        self._orders = orders
        self._clock = clock

    async def items(self, actor: Actor, most: int = _MOST) -> list[AttentionItem]:
        """Newest first. Raises `Forbidden`."""
        require_admin(actor)
        found: list[AttentionItem] = []
        skip = 0
        while len(found) < most:
            batch = await self._suggestions.needing_a_look(skip, _BATCH)
            opened = await self._still_open(batch)
            found += opened
            skip += len(opened)  # the others have just left the query
            if len(batch) < _BATCH:
                break
        return found[:most]

    async def page(self, actor: Actor, page: int, limit: int) -> OffsetPage[AttentionItemPublic]:
        """Newest first. Raises `Forbidden`."""
        items = await self.items(actor)
        shown = [public(item) for item in items[(page - 1) * limit : page * limit]]
        return OffsetPage[AttentionItemPublic](items=shown, page=page, limit=limit, total=len(items))

    async def _still_open(self, batch: list[TriageSuggestion]) -> list[AttentionItem]:
        standing = await self._orders.standing([one.work_order_id for one in batch])
        acted = [one.id for one in batch if acted_on(one, standing.get(one.work_order_id))]
        await self._suggestions.acted_on(acted, self._clock.now())
        return [AttentionItem(one, standing[one.work_order_id].order) for one in batch if one.id not in acted]


def acted_on(suggestion: TriageSuggestion, standing: Standing | None) -> bool:
    """Whether a person decided on it, changed the order's priority or status since, or the order is done or gone.

    What triage applied by itself still wants a person's look.
    """
    if suggestion.dismissed_at or suggestion.undone_at:
        return True
    if suggestion.applied and suggestion.applied_by != "system":
        return True
    if standing is None or standing.deleted or standing.order.status == "done":
        return True
    return any(_is_act(mark) for mark in standing.marks if mark.at > suggestion.created_at)


def _is_act(mark: HistoryMark) -> bool:
    return mark.by != "system" and (mark.action == "deleted" or any(one.field in _ACTS for one in mark.changes))


def public(item: AttentionItem) -> AttentionItemPublic:
    """The item on the wire."""
    fields = {name: getattr(shown, name) for shown in (present(item.suggestion),) for name in type(shown).model_fields}
    return AttentionItemPublic(**fields, work_order=item.order)
