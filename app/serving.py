"""The web server of `desk web`: uvicorn around the program (docs/dependencies.md says why this one)."""

from __future__ import annotations

import uvicorn

from app.core.settings import Settings
from app.local.startup import PlainStartup
from app.main import create_app

GRACE_S = 5
"""How long open requests may take once the web process was asked to stop; the launcher waits longer."""


def web_server(settings: Settings) -> uvicorn.Server:
    """Not yet running; it takes bound sockets."""
    config = uvicorn.Config(
        PlainStartup(create_app()),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=settings.log_level,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    return uvicorn.Server(config)
