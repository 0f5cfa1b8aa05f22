"""The two systems that the shipped connections point to: served alone, or with `desk up`."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field

from app.core.settings import Settings
from app.local.children import Write
from app.local.errors import LocalServiceError
from app.local.ports import bind, require_free
from app.tools.connections.access import process_environment
from app.tools.connections.demo.server import (
    INVENTORY_PORT,
    INVENTORY_TOKEN,
    NOTIFICATIONS_PORT,
    NOTIFICATIONS_TOKEN,
    serve_demo_connections,
)

HOST = "127.0.0.1"
_NAMES = (INVENTORY_TOKEN, NOTIFICATIONS_TOKEN)


@dataclass(frozen=True, slots=True)
class DemoConnections:
    """`environment` is what the children need to know; a `note` tells the person why they are not started."""

    starts: bool = False
    note: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


def choose_demo_connections(settings: Settings, *, local_allowed: bool) -> DemoConnections:
    """Started for the shipped folder alone, while both ports are free and http to this machine is allowed (D-19).

    A busy port costs nothing but a line. A token that is not set is made for this run.
    """
    is_shipped = settings.connections_dir == Settings.model_fields["connections_dir"].default
    if not (is_shipped and settings.connections_dir.is_dir() and local_allowed):
        return DemoConnections()
    for port in (INVENTORY_PORT, NOTIFICATIONS_PORT):
        try:
            require_free(HOST, port)
        except LocalServiceError:
            return DemoConnections(note=f"Port {port} is in use: the demo connections are not started.")
    known = process_environment()
    return DemoConnections(True, None, {name: known.get(name) or secrets.token_urlsafe(24) for name in _NAMES})


def serve(inventory_port: int, notifications_port: int, write: Write) -> None:
    """Serves both until interrupted. Raises `LocalServiceError` for a missing token or a busy port."""
    known = process_environment()
    for name in _NAMES:
        if not known.get(name):
            raise LocalServiceError(f"{name}: is required, the same as in the desk's environment.")
    with bind(HOST, inventory_port) as inventory, bind(HOST, notifications_port) as notifications:
        for name, listener in (("inventory", inventory), ("notifications", notifications)):
            listener.listen()
            write(f"{name}: http://{HOST}:{listener.getsockname()[1]}/api")
        asyncio.run(
            serve_demo_connections(
                inventory,
                notifications,
                inventory_token=known[INVENTORY_TOKEN],
                notifications_token=known[NOTIFICATIONS_TOKEN],
            )
        )
