"""What people do with suggestions: see, apply, dismiss, undo (D-14, D-15). Owner technicians and dispatchers decide.

An effect on the order comes first and carries a mark, so that a repeated click, or one after a crash, acts once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from bson import ObjectId

from app.accounts.actors import Actor, HumanActor, require_human
from app.accounts.service import AccountsService
from app.core.clock import Clock
from app.core.errors import AppError
from app.core.ids import derived_id
from app.governance.schemas import WAIT_WORDS
from app.outbox.schemas import RETRY, Event
from app.outbox.service import OutboxService
from app.triage.errors import SuggestionDecided, SuggestionNotFound
from app.triage.models import TriageSuggestion
from app.triage.repository import SuggestionRepository
from app.triage.schemas import SuggestionCard, SuggestionState, TriageSuggestionPublic
from app.work_orders.access import require_writer
from app.work_orders.creation_events import ORDER_CREATED
from app.work_orders.outcomes import AlreadyApplied, StaleOrder
from app.work_orders.schemas import Mark, Priority, WorkOrderPublic
from app.work_orders.service import WorkOrderService

LOOKS_MAX = 30
"""How often a page looks again for a suggestion, every two seconds, before it gives up quietly."""

_SHOWN = 20
_TRIES = 3
_SLOW = "Triage takes longer than usual. Reload the page to look again."
_RETRIED = "The AI service did not answer; triage tries again."


class SuggestionService:
    """`enabled` is AI_ENABLED: without it nothing is waited for."""

    def __init__(
        self,
        suggestions: SuggestionRepository,
        orders: WorkOrderService,
        accounts: AccountsService,
        outbox: OutboxService,
        clock: Clock,
        *,
        enabled: bool,
    ) -> None:
        self._suggestions = suggestions
        self._orders = orders
        self._accounts = accounts
        self._outbox = outbox
        self._clock = clock
        self._enabled = enabled

    async def of_order(self, actor: Actor, order_id: ObjectId) -> list[TriageSuggestion]:
        """The order's suggestions, newest first, for whoever may see the order. Raises `OrderNotFound`."""
        await self._orders.get(actor, order_id)
        return await self._suggestions.of_order(order_id, _SHOWN)

    async def apply(self, actor: Actor, suggestion_id: ObjectId) -> TriageSuggestion:
        """The order gets the suggested priority, on its present version; a repeated click changes nothing.

        Raises `SuggestionNotFound`, `SuggestionDecided`, `Forbidden`, `OrderNotFound`, `StaleOrder`.
        """
        human, found, order = await self._theirs(actor, suggestion_id)
        if found.applied:
            return found
        if state(found) != "suggested":
            raise SuggestionDecided
        fields: dict[str, Any] = {"applied": True, "appliedAt": self._clock.now(), "appliedBy": str(human.id)}
        mark = Mark(str(derived_id(str(found.id), "apply")), "triage")
        if order.priority != found.suggested_priority or await self._was_applied(found, mark):
            version = await self._set_priority(human, found, order.version, mark)
            fields |= {"applyMark": mark.tool_call_id, "appliedVersion": version}
        return await self._suggestions.apply(found.id, fields) or await self._get(found.id)

    async def dismiss(self, actor: Actor, suggestion_id: ObjectId) -> TriageSuggestion:
        """Nobody needs it; of what triage applied by itself: it was seen, and stays. A repeated click changes nothing.

        Raises as `apply` does.
        """
        human, found, _ = await self._theirs(actor, suggestion_id)
        fields = {"dismissedAt": self._clock.now(), "dismissedBy": str(human.id)}
        dismissed = await self._suggestions.dismiss(found.id, fields) or await self._get(found.id)
        if dismissed.dismissed_at is None:
            raise SuggestionDecided
        return dismissed

    async def undo(self, actor: Actor, suggestion_id: ObjectId) -> TriageSuggestion:
        """Takes the applied priority back, if nothing happened to the order since (D-14). Raises `UndoOutOfDate`."""
        human, found, _ = await self._theirs(actor, suggestion_id)
        if found.undone_at is not None:
            return found
        if not found.applied or found.apply_mark is None:
            raise SuggestionDecided("This suggestion has changed nothing that could be undone.")
        mark = Mark(str(derived_id(str(found.id), "undo")), "undo")
        with contextlib.suppress(AlreadyApplied):  # undone in an attempt that died before it was put down here
            await self._orders.undo(human, found.work_order_id, found.apply_mark, mark=mark)
        fields = {"applied": False, "undoneAt": self._clock.now(), "undoneBy": str(human.id)}
        return await self._suggestions.undo(found.id, fields) or await self._get(found.id)

    async def hints(self, actor: Actor, order_ids: Sequence[ObjectId]) -> dict[str, Priority]:
        """What open suggestions would make of these orders, where it differs and the actor may see the order."""
        human = require_human(actor)
        found = await self._suggestions.open_of_orders(order_ids)
        standing = await self._orders.standing([one.work_order_id for one in found])
        hints: dict[str, Priority] = {}
        for one in found:
            now = standing.get(one.work_order_id)
            seen = now and not now.deleted and (human.role != "user" or now.order.owner.id == str(human.id))
            if now and seen and now.order.status != "done" and now.order.priority != one.suggested_priority:
                hints[now.order.id] = one.suggested_priority
        return hints

    async def card(self, actor: Actor, order_id: ObjectId, look: int = 1) -> SuggestionCard:
        """What the order's page shows; `look` counts how often it looked already. Raises `OrderNotFound`."""
        order = await self._orders.get(actor, order_id)
        if found := await self._suggestions.of_order(order_id, 1):
            return await self._card_of(require_human(actor), found[0], order)
        event = await self._outbox.find(ORDER_CREATED, str(order_id)) if self._enabled else None
        return _waiting(event, look)

    async def card_after(self, actor: Actor, suggestion_id: ObjectId, problem: AppError | None) -> SuggestionCard:
        """The suggestion as it stands after a decision, or after one that was refused."""
        human, found, order = await self._theirs(actor, suggestion_id)
        return await self._card_of(human, found, order, problem.message if problem else None)

    async def order_of(self, actor: Actor, suggestion_id: ObjectId) -> ObjectId:
        """The order it belongs to, for whoever may decide on it."""
        return (await self._theirs(actor, suggestion_id))[1].work_order_id

    async def _theirs(
        self, actor: Actor, suggestion_id: ObjectId
    ) -> tuple[HumanActor, TriageSuggestion, WorkOrderPublic]:
        human = require_writer(actor)
        found = await self._get(suggestion_id)
        return human, found, await self._orders.get(actor, found.work_order_id)

    async def _get(self, suggestion_id: ObjectId) -> TriageSuggestion:
        found = await self._suggestions.get(suggestion_id)
        if found is None:
            raise SuggestionNotFound
        return found

    async def _was_applied(self, found: TriageSuggestion, mark: Mark) -> bool:
        """Whether an attempt that died had written to the order already."""
        return await self._orders.was_applied(found.work_order_id, mark.tool_call_id or "")

    async def _set_priority(self, human: HumanActor, found: TriageSuggestion, version: int, mark: Mark) -> int:
        """The version it produced. The person's word is for the priority alone: other edits may come in between."""
        for attempt in range(_TRIES):
            try:
                written = await self._orders.update(
                    human, found.work_order_id, version, {"priority": found.suggested_priority}, mark=mark
                )
            except AlreadyApplied as applied:
                return applied.version
            except StaleOrder as stale:
                if attempt == _TRIES - 1:
                    raise
                version = stale.current.version
            else:
                return written.version
        raise AssertionError("unreachable")

    async def _card_of(
        self, human: HumanActor, found: TriageSuggestion, order: WorkOrderPublic, problem: str | None = None
    ) -> SuggestionCard:
        present_state = state(found)
        by, at = _decided(found)
        may_decide = human.role == "admin" or (human.role == "user" and order.owner.id == str(human.id))
        undoable = present_state == "applied" and found.apply_mark is not None
        return SuggestionCard(
            state=present_state,
            id=str(found.id),
            summary=found.summary,
            priority=found.suggested_priority,
            flagged=found.flag_for_dispatcher,
            by_name=await self._name(by),
            at=at,
            can_decide=may_decide and present_state == "suggested",
            can_undo=may_decide and undoable and found.applied_version == order.version,
            note=problem or (found.note if present_state == "suggested" else None),
        )

    async def _name(self, by: str | None) -> str | None:
        if by is None or by == "system":
            return "triage" if by else None
        refs = await self._accounts.refs([ObjectId(by)])
        return refs[ObjectId(by)].name if ObjectId(by) in refs else "a former member"


def state(suggestion: TriageSuggestion) -> SuggestionState:
    """Where it stands: the last decision counts."""
    if suggestion.undone_at is not None:
        return "undone"
    if suggestion.applied:
        return "applied"
    return "dismissed" if suggestion.dismissed_at is not None else "suggested"


def present(suggestion: TriageSuggestion) -> TriageSuggestionPublic:
    """The suggestion on the wire."""
    fields = {name: getattr(suggestion, name) for name in TriageSuggestionPublic.model_fields}
    ids = {name: str(fields[name]) for name in ("id", "work_order_id", "run_id")}
    return TriageSuggestionPublic(**(fields | ids))


def _decided(found: TriageSuggestion) -> tuple[str | None, Any]:
    match state(found):
        case "undone":
            return found.undone_by, found.undone_at
        case "applied":
            return found.applied_by, found.applied_at
        case "dismissed":
            return found.dismissed_by, found.dismissed_at
        case _:
            return None, None


def _waiting(event: Event | None, look: int) -> SuggestionCard:
    """Nothing yet: worth looking again soon, worth knowing why not, or nothing to expect."""
    if event is None or event.status not in ("pending", "processing"):
        return SuggestionCard("none")
    if event.wait_reason in WAIT_WORDS:
        return SuggestionCard("waiting", note=WAIT_WORDS[event.wait_reason])
    if look >= LOOKS_MAX:
        return SuggestionCard("waiting", note=_SLOW)
    note = _RETRIED if event.wait_reason == RETRY else None
    return SuggestionCard("waiting", note=note, next_try=look + 1)
