"""Both demonstration systems in one process, each on its port (`desk demo-connections`)."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

from app.tools.connections.demo.inventory import Inventory
from app.tools.connections.demo.notifications import Notifications
from app.tools.connections.demo.service import DemoService, Receive, Send

INVENTORY_PORT = 8791
NOTIFICATIONS_PORT = 8792
INVENTORY_TOKEN = "INVENTORY_TOKEN"  # noqa: S105 - the name of the variable
NOTIFICATIONS_TOKEN = "NOTIFICATIONS_TOKEN"  # noqa: S105 - the name of the variable


async def serve_demo_connections(
    inventory: socket.socket, notifications: socket.socket, *, inventory_token: str, notifications_token: str
) -> None:
    """Serves on two bound sockets until interrupted. One server, so that one signal ends both."""
    apps: dict[int, DemoService] = {
        inventory.getsockname()[1]: Inventory(inventory_token),
        notifications.getsockname()[1]: Notifications(notifications_token),
    }

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await apps[scope["server"][1]](scope, receive, send)

    config = uvicorn.Config(app, lifespan="off", access_log=False, ws="none", timeout_graceful_shutdown=2)
    await uvicorn.Server(config).serve(sockets=[inventory, notifications])
