"""What the model is told of the connections: made from their policies, so that it is never out of date (T-10)."""

from __future__ import annotations

from collections.abc import Iterator

from app.tools.connections.connection import Connection, Connections, Endpoint
from app.tools.policy import Tier

MAX_CHARS = 3_000
_HOW = (
    "Send one HTTP request to another system. Only these endpoints exist; {name} stands for one value.\n"
    "GET takes intent read. Everything else takes intent write first: the person sees the request and decides; when the"
    " result says approved, call again with intent confirmed_write and exactly the same arguments, which sends it once."
)


def describe(connections: Connections) -> str:
    """How to use `request`, then each connection with what may be called; at most `MAX_CHARS` characters."""
    lines = [_HOW]
    left = MAX_CHARS - len(_HOW) - 60
    told = [line for connection in connections for line in _lines(connection)]
    for number, line in enumerate(told):
        left -= len(line) + 1
        if left < 0:
            lines.append(f"(and {len(told) - number} more lines that are not shown)")
            break
        lines.append(line)
    return "\n".join(lines)


def _lines(connection: Connection) -> Iterator[str]:
    callable_ones = [endpoint for endpoint in connection.endpoints if endpoint.policy.confirm < Tier.NEVER]
    if callable_ones:
        yield f"{connection.name}:"
    for endpoint in callable_ones:
        yield f"- {endpoint.method} {endpoint.template.text}{_about(endpoint)}"


def _about(endpoint: Endpoint) -> str:
    policy = endpoint.policy
    notes = [f"returns {', '.join(endpoint.returns)}"] if endpoint.returns else []
    if policy.confirm is Tier.REVIEW:
        notes.append("only an admin may run it, after review")
    elif policy.mutates or policy.confirm is Tier.CONFIRM:
        notes.append("needs confirmation")
    notes += [policy.reason] if policy.reason else []
    notes += [f"{one.field} above {one.above:g}: {one.escalate.word}" for one in policy.thresholds]
    return f" ({'; '.join(notes)})" if notes else ""
