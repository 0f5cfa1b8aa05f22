"""Confirmation tokens: 256 bits, made from the call and its nonce under a server key (T-12).

Neither the database nor the event stream holds one: the call keeps its SHA-256 to be found by. The nonce changes with
each staging, so a token stands for exactly one frozen proposal.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from app.runs.models import AgentToolCall


def new_nonce() -> str:
    return secrets.token_hex(16)


def token_hash(token: str) -> str:
    """SHA-256 of a token as it was given, in hex."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class ConfirmationTokens:
    """Makes and checks tokens; `key` is a secret of the desk."""

    def __init__(self, key: str) -> None:
        self._key = hashlib.sha256(b"confirmation:" + key.encode()).digest()

    def token(self, call: AgentToolCall) -> str:
        """The token of a staged call: user, session's run, tool, arguments and version are bound by its record."""
        nonce = call.approval.nonce if call.approval else ""
        bound = f"{call.id}\x1f{nonce}\x1f{call.user_id}\x1f{call.run_id}\x1f{call.args_hash}\x1f{call.staged_version}"
        return base64.urlsafe_b64encode(hmac.digest(self._key, bound.encode(), "sha256")).decode().rstrip("=")

    def fingerprint(self, call: AgentToolCall) -> str:
        """What may be stored of the token of `call`: its SHA-256, in hex."""
        return token_hash(self.token(call))

    def matches(self, call: AgentToolCall, given: str) -> bool:
        return hmac.compare_digest(self.token(call).encode(), given.encode("utf-8", "replace"))
