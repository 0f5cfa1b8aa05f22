"""What a call needs beyond its request: an address that may be called, and a secret that is there (D-19, T-10)."""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Mapping
from urllib.parse import quote

from pydantic_settings import DotEnvSettingsSource

from app.core.settings import Settings
from app.tools.connections.connection import Connection
from app.tools.connections.port import Sender

_SHORTEST_SECRET = 4


def process_environment() -> Mapping[str, str]:
    """The variables of this process as they are when asked for, then those of `.env` as it was at this moment."""
    kept = DotEnvSettingsSource(Settings, case_sensitive=True).env_vars
    return ChainMap(os.environ, {name: value for name, value in kept.items() if value is not None})


class Access:
    """Looks at each call anew: a secret may be set, or changed, while the desk runs."""

    def __init__(self, sender: Sender, environment: Mapping[str, str]) -> None:
        self._sender = sender
        self._environment = environment

    def fault(self, connection: Connection) -> str | None:
        """Why the connection cannot be called here, in plain words without any value; None when it can."""
        if refused := self._sender.refusal(connection.base_url):
            return f"its address {refused}"
        if connection.auth is None:
            return None
        secret = self._environment.get(connection.auth.variable, "")
        if not secret:
            return f"{connection.auth.variable} is missing"
        is_fit = secret.isascii() and secret.isprintable() and secret == secret.strip()
        return None if is_fit else f"{connection.auth.variable} holds what no header can carry"

    def secret(self, connection: Connection) -> tuple[str, str] | None:
        """The header and its value, for a connection without fault."""
        if connection.auth is None:
            return None
        return connection.auth.header, self._environment.get(connection.auth.variable, "")


def without_secret(text: str, secret: tuple[str, str] | None) -> str:
    """`text` without the secret, also where a server echoes it escaped, or only one word of it (`Bearer …`)."""
    words = {secret[1], *secret[1].split()} if secret else set()
    forms = {form for word in words for form in (word, json.dumps(word)[1:-1], quote(word, safe=""))}
    for form in sorted(forms, key=len, reverse=True):
        if len(form) >= _SHORTEST_SECRET:
            text = text.replace(form, "•••")
    return text
