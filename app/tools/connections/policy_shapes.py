"""The shape of a `policy.json`, and for each key the words that say what is allowed there (contract, section 6)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from app.core.schemas import Strict, Text
from app.core.settings import Settings

MAX_ENDPOINTS = 200
MAX_THRESHOLDS = 20

_OURS = {
    "accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "host", "idempotency-key",
    "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
}  # fmt: skip
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}\Z")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,63}\Z")
_BASE_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)*/?\Z")
_UNFIT = re.compile(r"[\x00-\x20\x7f\\@?#]")

ALLOWED = {
    "baseUrl": "an https:// address without user name, password, query or fragment, at most 500 characters",
    "auth": "an object of header and valueFromEnv (the secret itself never stands here), or leave it out",
    "header": "the name of a header that carries the secret, such as Authorization, and that the desk does not set",
    "valueFromEnv": "the name of an environment variable in capitals, such as INVENTORY_TOKEN, none of the desk's own",
    "endpoints": f'an object of 1 to {MAX_ENDPOINTS} entries "METHOD /template": {{…}}',
    "returns": "a list of at most 20 short names of what comes back",
    "confirm": 'true, "review" or "never"; leave it out where no confirmation is needed',
    "reason": "a sentence of 1 to 200 characters",
    "thresholds": f"a list of at most {MAX_THRESHOLDS} objects {{field, above, escalate}}",
    "field": "a dotted path that begins with body. or query., such as body.amount",
    "above": "a finite number",
    "escalate": '"review" or "never"',
    "delegations": "an object of enabled and escalateConfirm, each true or false",
    "enabled": "true or false",
    "escalateConfirm": "true or false",
    "limits": "an object of timeoutMs, maxResponseBytes and perMinute",
    "timeoutMs": "a whole number from 100 to 60000",
    "maxResponseBytes": "a whole number from 1 to 1048576",
    "perMinute": "a whole number from 1 to 10000",
}
"""For each key, what may stand there."""


def _of(holds: Any) -> AfterValidator:
    def check(value: str) -> str:
        if not holds(value):
            raise ValueError("is not allowed")  # the words for people are in ALLOWED
        return value

    return AfterValidator(check)


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    plain = not _UNFIT.search(value) and len(value) <= 500 and (port is None or port > 0)
    return plain and parts.scheme in ("http", "https") and bool(parts.hostname) and bool(_BASE_PATH.match(parts.path))


def _is_header(value: str) -> bool:
    return _HEADER.match(value) is not None and value.lower() not in _OURS


def _is_variable(value: str) -> bool:
    return _VARIABLE.match(value) is not None and value.lower() not in Settings.model_fields


def _only_words(value: Any) -> Any:
    """Python takes 1 and 1.0 for true; a policy does not."""
    if value is not True and not isinstance(value, str):
        raise ValueError("is not allowed")
    return value


Name = Annotated[Text, Field(min_length=1, max_length=60)]
FieldPath = Annotated[
    str, Field(pattern=r"^(?:body(?:\.[A-Za-z0-9_-]{1,64}){1,8}|query\.[A-Za-z0-9_-]{1,64})$", max_length=300)
]


class ThresholdShape(Strict):
    field: FieldPath
    above: Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]
    escalate: Literal["review", "never"]


class EndpointShape(Strict):
    returns: Annotated[tuple[Name, ...], Field(max_length=20, strict=False)] = ()
    confirm: Annotated[Literal[True, "review", "never"], BeforeValidator(_only_words)] | None = None
    reason: Annotated[Text, Field(min_length=1, max_length=200)] = ""
    thresholds: Annotated[tuple[ThresholdShape, ...], Field(max_length=MAX_THRESHOLDS, strict=False)] = ()


class AuthShape(Strict):
    header: Annotated[str, _of(_is_header)]
    value_from_env: Annotated[str, _of(_is_variable)]


class DelegationsShape(Strict):
    """`enabled: false`: no call that another agent or the system makes for a person is taken."""

    enabled: bool = True
    escalate_confirm: bool = False


class LimitsShape(Strict):
    timeout_ms: Annotated[int, Field(ge=100, le=60_000)] = 5_000
    max_response_bytes: Annotated[int, Field(ge=1, le=1_048_576)] = 65_536
    per_minute: Annotated[int, Field(ge=1, le=10_000)] = 60


class PolicyShape(Strict):
    base_url: Annotated[str, _of(_is_address)]
    endpoints: Annotated[dict[str, EndpointShape], Field(min_length=1, max_length=MAX_ENDPOINTS)]
    auth: AuthShape | None = None
    delegations: DelegationsShape = DelegationsShape()
    limits: LimitsShape = LimitsShape()
