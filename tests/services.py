"""A real MongoDB and a real Valkey for the tests: started once, shared by every pytest-xdist worker.

Their data lies under `.desk/test`, is wiped before the start, and goes when the last worker leaves. A run that was
killed leaves its servers to the next one, which finds and ends them. MONGODB_URI and REDIS_URL, where set, win.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.local.services import start_services

_FOLDER = Path(__file__).resolve().parent.parent / ".desk" / "test"


@contextmanager
def shared_services() -> Iterator[tuple[str, str]]:
    """`(mongodb_uri, redis_url)` of services that outlast this process while another one uses them.

    Use a database name, and a Redis key prefix or database, of your own: the servers are shared.
    """
    mongodb_uri, redis_url = os.environ.get("MONGODB_URI", ""), os.environ.get("REDIS_URL", "")
    with start_services(_FOLDER, mongodb_uri=mongodb_uri, redis_url=redis_url, ephemeral=True) as services:
        yield services.mongodb_uri, services.redis_url
