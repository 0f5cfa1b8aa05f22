"""003's own dialect: named events with JSON payloads (D-23)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from bson import ObjectId

from app.copilot.approvals import Approvals
from app.copilot.events import Entry, ToolApprovalRequired
from app.copilot.watching import Watching
from app.core.clock import Clock, iso_ms
from app.runs.service import RunService
from app.web.sse import frame


class JsonWire:
    """A run as `text/event-stream` for the owner's own client."""

    def __init__(self, watching: Watching, runs: RunService, approvals: Approvals, clock: Clock) -> None:
        self._watching = watching
        self._runs = runs
        self._approvals = approvals
        self._clock = clock

    async def frames(self, run_id: ObjectId, cursor: str) -> AsyncIterator[bytes]:
        """Frames after `cursor`; the last one is `message_done` or `error`. A `ping` has no id."""
        async for item in self._watching.follow(run_id, cursor):
            if isinstance(item, Entry):
                body = item.event.model_dump(by_alias=True, mode="json") | await self._secret(item)
                yield frame(_ascii(body), event=item.event.event, entry_id=item.id)
            else:
                yield frame(_ascii({"event": "ping", "ts": iso_ms(self._clock.now())}), event="ping")

    async def _secret(self, entry: Entry) -> dict[str, str]:
        """The confirmation token, added here because neither stream nor database holds it (T-12)."""
        if not isinstance(entry.event, ToolApprovalRequired):
            return {}
        call = await self._runs.call(ObjectId(entry.event.tool_call_id))
        return {"confirmationToken": self._approvals.token(call)}


def _ascii(body: dict[str, object]) -> str:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))
