"""Pages of orders: whose, from where on, and with the names of their owners (WO-2, WO-3)."""

from __future__ import annotations

from bson import ObjectId

from app.accounts.actors import HumanActor, require_human
from app.accounts.askers import Asker
from app.accounts.people import Person
from app.core.cursors import Cursors, Position
from app.work_orders.access import require_overseer
from app.work_orders.list_repository import OrderLists, Slice
from app.work_orders.presentation import Listed, Presenter
from app.work_orders.schemas import ListQuery, OrderFilter


class Listing:
    """One owner's orders (`owner`) or everyone's (None), newest first; a cursor belongs to one such list."""

    def __init__(self, lists: OrderLists, present: Presenter, cursors: Cursors) -> None:
        self._lists = lists
        self._present = present
        self._cursors = cursors

    async def of(
        self, human: HumanActor, owner: ObjectId | None, wanted: OrderFilter, cursor: str | None, limit: int
    ) -> Listed:
        """A page for `human`, who may see it."""
        found = await self._lists.page(owner, wanted, self._after(cursor, owner), limit)
        return await self._with_owners(human, owner, found)

    async def asked(self, asker: Asker, wanted: ListQuery, *, everyones: bool) -> tuple[Person, Listed]:
        """As `WorkOrderService.list_for`. What was found is told to nobody before the person is."""
        require, owner = (require_overseer, None) if everyones else (require_human, asker.id)
        if asker.stage is None or wanted.search:
            person = await asker.person()
            return person, await self.of(require(person.actor), owner, wanted, wanted.cursor, wanted.limit)
        after = self._after(wanted.cursor, owner)
        found = await self._lists.page(owner, wanted, after, wanted.limit, stage=asker.stage)
        person = asker.person_beside(found.beside)
        return person, await self._with_owners(require(person.actor), owner, found)

    def _after(self, cursor: str | None, owner: ObjectId | None) -> Position | None:
        return self._cursors.open(cursor, _scope(owner)) if cursor else None

    async def _with_owners(self, human: HumanActor, owner: ObjectId | None, found: Slice) -> Listed:
        return Listed(
            orders=found.rows,
            owners={owner: human.ref} if owner == human.id and human.ref else await self._present.owners(found.rows),
            next_cursor=self._cursors.seal(found.last, _scope(owner)) if found.last else None,
            searched_to=found.last.created_at if found.cut and found.last else None,
        )


def _scope(owner: ObjectId | None) -> str:
    return f"orders:{owner or 'all'}"
