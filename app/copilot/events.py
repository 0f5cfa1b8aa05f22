"""The closed set of events that a run tells (003 §4.8, D-23), and their log in Redis (D-2).

The log is a stream per run. Entries are numbered from 1, so that a reader notices a gap, and a repeated
`<toolCallId>:<event>` is refused. MongoDB holds the truth: where the log is gone, `replay` tells it again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from bson import ObjectId
from pydantic import Field, TypeAdapter
from redis.exceptions import RedisError

from app.core.logging import get_logger
from app.core.redis import RedisClient
from app.core.schemas import Moment, Wire
from app.runs.schemas import Outcome

log = get_logger(__name__)

MAX_ENTRIES = 20_000
KEPT_WORKING_S = 7 * 24 * 3600
KEPT_ENDED_S = 3600
END = "end"
"""The identity of a run's last event."""
_HOLES_KEPT = 10_000

ErrorCode = Literal[
    "AI_UNAVAILABLE",
    "AI_BUDGET_EXCEEDED",
    "AI_APPROVAL_EXPIRED",
    "ABORTED",
    "LOOP_DETECTED",
    "TOOL_ERRORS",
    "INTERNAL",
]


class Token(Wire):
    event: Literal["token"] = "token"
    content: str


class ToolCallStart(Wire):
    event: Literal["tool_call_start"] = "tool_call_start"
    tool_call_id: str
    tool: str
    args: dict[str, Any] | None


class ToolApprovalRequired(Wire):
    """What the person is asked. The confirmation token is added by the wire, for the owner only (T-12)."""

    event: Literal["tool_approval_required"] = "tool_approval_required"
    tool_call_id: str
    tool: str
    args: dict[str, Any]
    staged_version: int | None
    pre_image: dict[str, Any] | None
    after_diff: dict[str, Any]
    summary: str
    expires_at: Moment
    risk: str
    tier: str
    args_hash: str


class ToolApprovalExpired(Wire):
    event: Literal["tool_approval_expired"] = "tool_approval_expired"
    tool_call_id: str


class ToolResult(Wire):
    event: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    outcome: Outcome
    result: Any = None


class MessageDone(Wire):
    event: Literal["message_done"] = "message_done"
    run_id: str
    content: str
    input_tokens: int
    output_tokens: int


class RunFailed(Wire):
    event: Literal["error"] = "error"
    code: ErrorCode
    message: str
    request_id: str


RunEvent = Annotated[
    Token | ToolCallStart | ToolApprovalRequired | ToolApprovalExpired | ToolResult | MessageDone | RunFailed,
    Field(discriminator="event"),
]
_ADAPTER: TypeAdapter[RunEvent] = TypeAdapter(RunEvent)


def is_last(event: RunEvent) -> bool:
    """Whether nothing follows `event`."""
    return isinstance(event, MessageDone | RunFailed)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event with its place: the stream's entry id, and its number in the run (from 1).

    `at` is where a token's text begins in all that the run has said, in characters.
    """

    id: str
    number: int
    event: RunEvent
    at: int | None = None


def stream_key(prefix: str, run_id: str) -> str:
    return f"{prefix}:run:{run_id}:events"


def count_key(prefix: str, run_id: str) -> str:
    """How many events were told; there from the run's beginning on."""
    return f"{stream_key(prefix, run_id)}:n"


def wake_channel(prefix: str, run_id: str) -> str:
    return f"{prefix}:run:{run_id}:wake"


def read_entry(entry_id: str, fields: dict[str, str]) -> Entry:
    """An entry as it stands in Redis. Raises `ValueError` for what this desk did not write."""
    at = int(fields["a"]) if "a" in fields else None
    return Entry(entry_id, int(fields["n"]), _ADAPTER.validate_python(json.loads(fields["e"])), at)


# One atomic step: refuse a repeat, number, append, bound the life, wake the readers. Where the count is gone, Redis
# lost the run's past: the numbers go on elsewhere, so that every reader sees the gap.
_APPEND = """
if ARGV[2] ~= '' and redis.call('SADD', KEYS[3], ARGV[2]) == 0 then return false end
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('SET', KEYS[2], ARGV[6]) end
local n = redis.call('INCRBY', KEYS[2], ARGV[7])
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'n', n, 'e', ARGV[1], unpack(ARGV, 8))
for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[4]) end
redis.call('PUBLISH', ARGV[5], id)
return id
"""
_ELSEWHERE = 1_000_000_000


class EventLog:
    """Appends a run's events. Losing Redis loses the live stream, never the run: failures are logged, not raised."""

    def __init__(self, redis: RedisClient, prefix: str) -> None:
        self._redis = redis
        self._prefix = prefix
        self._append = redis.register_script(_APPEND)
        self._holes: set[ObjectId] = set()
        """Runs with an event that was not told: the next one leaves a number out, so that readers see it."""

    async def begin(self, run_id: ObjectId) -> None:
        """Says that nothing of the run was told yet: its first event is number 1."""
        try:
            await self._redis.set(count_key(self._prefix, str(run_id)), 0, ex=KEPT_WORKING_S, nx=True)
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("stream_not_begun", run_id=str(run_id), error=type(error).__name__)

    async def append(self, run_id: ObjectId, event: RunEvent, again: str = "", at: int | None = None) -> None:
        """Adds `event` unless this call's event is already there; `again` tells a meant repetition from a retry.

        `at`: where a token's text begins in all that the run has said, so that readers know what they had.
        """
        key = stream_key(self._prefix, str(run_id))
        body = json.dumps(event.model_dump(by_alias=True, mode="json"), ensure_ascii=True, separators=(",", ":"))
        kept = KEPT_ENDED_S if is_last(event) else KEPT_WORKING_S
        try:
            await self._append(
                keys=[key, count_key(self._prefix, str(run_id)), f"{key}:seen"],
                args=[
                    body,
                    identity(event, again),
                    MAX_ENTRIES,
                    kept,
                    wake_channel(self._prefix, str(run_id)),
                    _ELSEWHERE,
                    2 if run_id in self._holes else 1,
                    *(() if at is None else ("a", at)),
                ],
            )
            self._holes.discard(run_id)
        except (RedisError, OSError, TimeoutError) as error:
            if len(self._holes) < _HOLES_KEPT:
                self._holes.add(run_id)
            log.warning("event_not_streamed", run_id=str(run_id), event_name=event.event, error=type(error).__name__)


def identity(event: RunEvent, again: str = "") -> str:
    """What makes a repetition of `event` recognisable; empty for tokens, which are never refused."""
    if isinstance(event, Token):
        return ""
    if isinstance(event, MessageDone | RunFailed):
        return END
    return f"{event.tool_call_id}:{event.event}{again}"
