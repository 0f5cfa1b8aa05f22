"""Reads every `<folder>/<name>/policy.json`, strictly, when the desk starts (T-4).

Each fault is one line of file, key and what is allowed; no value is ever told, for it could be a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from app.core.strict_json import StrictJsonError, parse_object
from app.tools.connections.connection import CHANGERS, Auth, Connection, ConnectionFault, Connections, Endpoint, Limits
from app.tools.connections.paths import METHODS, Template
from app.tools.connections.policy_shapes import (
    ALLOWED,
    AuthShape,
    DelegationsShape,
    EndpointShape,
    LimitsShape,
    PolicyShape,
    ThresholdShape,
)
from app.tools.policy import TIERS, Risk, Threshold, Tier, ToolPolicy

MAX_BYTES = 64 * 1024
MAX_CONNECTIONS = 50
_MAX_DEPTH = 8
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
_ENDPOINT = (
    f"write METHOD /template: a method of {', '.join(METHODS)}, one space, and a path of plain segments or {{name}}"
)
_SHAPES: dict[str, type[BaseModel]] = {
    "auth": AuthShape, "delegations": DelegationsShape, "limits": LimitsShape, "thresholds": ThresholdShape,
    "endpoints": EndpointShape,
}  # fmt: skip


def load_connections(folder: Path) -> Connections:
    """Every connection in `folder`; none where it does not exist. Raises `ConnectionFault` with all faults."""
    faults: list[str] = []
    found: list[Connection] = []
    for entry in _folders(folder):
        try:
            found.append(_read(entry))
        except ConnectionFault as fault:
            faults += fault.lines
    if len(found) > MAX_CONNECTIONS:
        faults.append(f"{folder.name}: at most {MAX_CONNECTIONS} connections are allowed")
    if faults:
        raise ConnectionFault(faults)
    return Connections(found)


def _folders(folder: Path) -> list[Path]:
    if not folder.exists():
        return []
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir() and entry.name[0] not in "._")
    except OSError:
        raise ConnectionFault([f"{folder.name}: is not a folder that can be read"]) from None


def _read(folder: Path) -> Connection:
    source = f"{folder.parent.name}/{folder.name}/policy.json"
    if not _NAME.match(folder.name):
        allowed = "1 to 40 small letters, digits or -, a letter first"
        raise ConnectionFault([f"{source}: the folder's name must be {allowed}"])
    shape, faults = _shape(_text(folder / "policy.json", source))
    if shape is None or faults:
        raise ConnectionFault([f"{source}: {fault}" for fault in dict.fromkeys(faults)])
    return _connection(folder.name, source, shape)


def _text(path: Path, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError:
        raise ConnectionFault([f"{source}: is missing or cannot be read"]) from None
    if len(text) > MAX_BYTES:
        raise ConnectionFault([f"{source}: must not be longer than {MAX_BYTES} bytes"])
    return text


def _shape(text: bytes) -> tuple[PolicyShape | None, list[str]]:
    faults: list[str] = []
    try:
        value = parse_object(text, max_bytes=MAX_BYTES, max_depth=_MAX_DEPTH)
    except StrictJsonError as error:
        value, faults = _lenient(text)
        faults = faults or [f"policy.json: {error.reason}"]
    faults += _endpoint_faults(value)
    try:
        return PolicyShape.model_validate(value), faults
    except ValidationError as error:
        return None, faults + [_line(fault["type"], fault["loc"]) for fault in error.errors(include_input=False)]


def _lenient(text: bytes) -> tuple[Any, list[str]]:
    """What was not strict JSON, read once more so that the key at fault can be named."""
    faults: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in found]
        faults.extend(f"{_told(key)}: stands twice in one object" for key in dict.fromkeys(keys) if keys.count(key) > 1)
        return dict(found)

    try:
        return json.loads(text, object_pairs_hook=pairs), faults
    except (ValueError, RecursionError):
        return {}, []


def _endpoint_faults(value: Any) -> list[str]:
    endpoints = value.get("endpoints") if isinstance(value, dict) else None
    keys = list(endpoints) if isinstance(endpoints, dict) else []
    return [f"endpoints.{_told(key)}: {_ENDPOINT}" for key in keys if _parsed(key) is None]


def _parsed(key: str) -> tuple[str, Template] | None:
    method, _, path = key.partition(" ")
    try:
        return (method, Template(path)) if method in METHODS else None
    except ValueError:
        return None


def _line(kind: str, loc: tuple[int | str, ...]) -> str:
    names = [str(part) for part in loc if not _is_branch(part)]
    where = ".".join(map(_told, names)) or "policy.json"
    if kind == "extra_forbidden":
        return f"{where}: is not a known key; allowed here: {', '.join(_keys_beside(names))}"
    allowed = ALLOWED.get(names[-1]) if names else None
    if allowed is None:  # an entry of a list, or an endpoint that is no object
        allowed = ALLOWED.get(names[-2], "") if len(names) > 1 and names[-1].isdigit() else "an object"
    return f"{where}: {'is required: ' if kind == 'missing' else 'must be '}{allowed}"


def _is_branch(part: int | str) -> bool:
    """Whether this step of pydantic's path is none of the file's (the chosen branch of a union)."""
    return isinstance(part, str) and part.startswith(("function-", "literal["))


def _keys_beside(names: list[str]) -> Iterator[str]:
    shape = next((_SHAPES[name] for name in reversed(names[:-1]) if name in _SHAPES), PolicyShape)
    return (field.alias or name for name, field in shape.model_fields.items())


def _told(key: str) -> str:
    """A key as it is printed: short, on one line."""
    text = key if key.isprintable() else ascii(key)
    return text if len(text) <= 80 else text[:79] + "…"


def _connection(name: str, source: str, shape: PolicyShape) -> Connection:
    delegations, limits = shape.delegations, shape.limits
    return Connection(
        name=name,
        base_url=shape.base_url.rstrip("/"),
        source=source,
        endpoints=tuple(_endpoint(name, source, key, one, delegations) for key, one in shape.endpoints.items()),
        auth=Auth(shape.auth.header, shape.auth.value_from_env) if shape.auth else None,
        limits=Limits(limits.timeout_ms / 1000, limits.max_response_bytes, limits.per_minute),
    )


def _endpoint(name: str, source: str, key: str, shape: EndpointShape, delegations: DelegationsShape) -> Endpoint:
    method, _, path = key.partition(" ")
    policy = ToolPolicy(
        f"{name} {key}",
        _RISKS.get(method, Risk.WRITE),
        mutates=method != "GET",
        confirm=_tier(shape.confirm),
        reason=shape.reason or None,
        thresholds=tuple(Threshold(one.field, one.above, TIERS[one.escalate]) for one in shape.thresholds),
        escalate_delegated=delegations.escalate_confirm,
        refuse_delegated=not delegations.enabled,
        roles=CHANGERS if method != "GET" else ToolPolicy.roles,
        source=source,
    )
    return Endpoint(method, Template(path), policy, shape.returns)


def _tier(confirm: bool | str | None) -> Tier:
    if confirm is None:
        return Tier.AUTO
    return Tier.CONFIRM if confirm is True else TIERS[str(confirm)]


_RISKS = {"GET": Risk.READ, "DELETE": Risk.DESTRUCTIVE}
