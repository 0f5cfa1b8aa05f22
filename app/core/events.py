"""How a lower feature tells higher ones without importing them: a table of event type → handlers.

The table is filled where the program is assembled (`app.main`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

E = TypeVar("E")
Handler = Callable[[E], Awaitable[None]]


class Announcements:
    """Tells every handler of an event's type, in the order they were added; the first failure is raised."""

    def __init__(self) -> None:
        self._handlers: dict[type, list[Callable[[Any], Awaitable[None]]]] = defaultdict(list)

    def on(self, event: type[E], handler: Handler[E]) -> None:
        self._handlers[event].append(handler)

    async def tell(self, event: object) -> None:
        for handler in self._handlers[type(event)]:
            await handler(event)
