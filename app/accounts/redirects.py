"""Where to go after signing in: a page of this desk, whatever the address bar says."""

from __future__ import annotations

import re
from urllib.parse import unquote

HOME = "/app/work-orders"

_LOCAL = re.compile(r"/app(?:[/?][\x21-\x7e]*)?\Z")
_MOST = 2_000


def safe_next(wanted: str | None) -> str:
    """`wanted` if it is a page behind the sign-in, else the list of work orders.

    Only plain ASCII paths below `/app` pass, so neither `//host`, a scheme, a backslash, a control character nor
    any of them percent-encoded (also twice) can name another site.
    """
    if wanted is None or len(wanted) > _MOST or not _LOCAL.match(wanted):
        return HOME
    path = wanted.split("?", 1)[0]
    for _ in range(3):
        if "\\" in path or "//" in path or ".." in path or not path.isprintable():
            return HOME
        path = unquote(path)
    return wanted
