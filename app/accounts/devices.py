"""From where a request comes, as kept with a session."""

from __future__ import annotations

from app.accounts.sessions import Device
from app.web.client import client_address
from app.web.hx import AnyConnection


def device_of(connection: AnyConnection, trusted_hops: int) -> Device:
    return Device(ip=client_address(connection, trusted_hops), user_agent=connection.headers.get("user-agent"))
