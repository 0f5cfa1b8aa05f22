"""A connection as its policy describes it, and the policy of one request to it (T-4, T-6, T-7, T-9).

The strictest of all endpoints that a path may mean is what holds; a path that none of them stands for is denied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from app.core.settings import SettingsError
from app.tools.connections.look_alikes import dodges
from app.tools.connections.paths import Template
from app.tools.policy import Risk, Tier, ToolPolicy

CHANGERS = frozenset({"admin", "user"})
"""Who may change anything through a connection: viewers only look (AUTH-6)."""


class ConnectionFault(SettingsError):
    """Policies that cannot be used. `lines` holds one plain line per fault: file, key, and what is allowed (T-4)."""


@dataclass(frozen=True, slots=True)
class Auth:
    """The header that carries the secret, and the environment variable that holds its whole value."""

    header: str
    variable: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for the whole exchange, bytes of an answer, calls a minute over all processes."""

    timeout_s: float = 5.0
    max_response_bytes: int = 65_536
    per_minute: int = 60


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`method` on every path that `template` stands for; `returns` names what comes back."""

    method: str
    template: Template
    policy: ToolPolicy
    returns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Connection:
    """One system. `source` is the file that its policy stands in."""

    name: str
    base_url: str
    source: str
    endpoints: tuple[Endpoint, ...]
    auth: Auth | None = None
    limits: Limits = field(default_factory=Limits)

    def found(self, method: str, path: str) -> tuple[Endpoint, ...]:
        """The endpoints that a normal `path` may mean, none unless one of them stands for it letter by letter."""
        of_method = [endpoint for endpoint in self.endpoints if endpoint.method == method]
        if not any(endpoint.template.matches(path) for endpoint in of_method):
            return ()
        exact = [endpoint for endpoint in of_method if endpoint.template.matches(path)]
        loose = [one for one in of_method if one.template.may_match(path) and one not in exact]
        return (*exact, *loose)


class Connections:
    """The connections by name, in order."""

    def __init__(self, connections: Iterable[Connection] = ()) -> None:
        self._connections = {connection.name: connection for connection in connections}

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._connections.values())

    def __len__(self) -> int:
        return len(self._connections)

    def get(self, name: str) -> Connection | None:
        return self._connections.get(name)

    def found(self, request: Mapping[str, Any]) -> tuple[Endpoint, ...]:
        """The endpoints that frozen arguments `{connection, method, path, …}` may mean."""
        connection = self.get(request["connection"])
        return connection.found(request["method"], request["path"]) if connection else ()

    def policy_of(self, request: Mapping[str, Any]) -> ToolPolicy:
        """The strictest policy of all that `request` may mean; what is not known is never allowed (T-9)."""
        endpoints = self.found(request)
        if not endpoints:
            return self._unknown(request)
        policy = reduce(_stricter, (endpoint.policy for endpoint in endpoints))
        return _watchful(policy, request) if policy.thresholds else policy

    def _unknown(self, request: Mapping[str, Any]) -> ToolPolicy:
        connection = self.get(request["connection"])
        name = f"{connection.name} (unknown endpoint)" if connection else "(unknown connection)"
        reason = f"unknown endpoint: {connection.name} has none for this" if connection else "unknown connection"
        source = connection.source if connection else "built in"
        return ToolPolicy(name, Risk.UNKNOWN, confirm=Tier.NEVER, reason=reason, source=source)


def _stricter(one: ToolPolicy, other: ToolPolicy) -> ToolPolicy:
    """What both ask for: the higher tier, the thresholds of both, both reasons. The name is the first one's."""
    reasons = dict.fromkeys(reason for policy in (one, other) if (reason := policy.reason))
    return replace(
        one,
        confirm=max(one.confirm, other.confirm),
        thresholds=tuple(dict.fromkeys((*one.thresholds, *other.thresholds))),
        reason="; ".join(reasons) or None,
        escalate_delegated=one.escalate_delegated or other.escalate_delegated,
        refuse_delegated=one.refuse_delegated or other.refuse_delegated,
    )


def _watchful(policy: ToolPolicy, request: Mapping[str, Any]) -> ToolPolicy:
    """Raised to the highest escalation where a key looks like one that a threshold reads (`Quantity`, `body.a.b`)."""
    if not any(dodges(threshold.field, request) for threshold in policy.thresholds):
        return policy
    highest = max(threshold.escalate for threshold in policy.thresholds)
    if policy.confirm >= highest:
        return policy
    return replace(policy, confirm=highest, reason="a key of the request looks like one that a threshold reads")
