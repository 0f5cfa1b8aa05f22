"""What can go wrong with a work order, beside the general errors."""

from __future__ import annotations

from app.core.errors import Conflict, NotFound


class OrderNotFound(NotFound):
    default_message = "This work order does not exist, was deleted, or is not yours to see."


class OrderExists(Conflict):
    default_message = "A work order with this id exists already."


class UndoOutOfDate(Conflict):
    """409: something happened to the order since, so that undoing would take that away too (D-30)."""

    default_message = "This cannot be undone any more: the work order was changed since."
