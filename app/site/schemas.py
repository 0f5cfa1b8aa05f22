"""What the desk as a whole says of itself, on the wire (ADM)."""

from __future__ import annotations

from app.core.schemas import Wire


class Metrics(Wire):
    """`{users, workOrders, uptimeSeconds}`: accounts, live orders, and how long this process has run."""

    users: int
    work_orders: int
    uptime_seconds: int
