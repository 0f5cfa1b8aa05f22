"""The outgoing notification hook of the demonstration: it takes messages and keeps them."""

from __future__ import annotations

from typing import Any

from app.tools.connections.demo.service import DemoService, Received, Reply

MAX_MESSAGES = 1_000


class Notifications(DemoService):
    """`POST /messages {to, text}`; `GET /messages` shows what came."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.messages: list[dict[str, Any]] = []

    def answer(self, request: Received) -> Reply:
        """See `DemoService.answer`."""
        if request.path.strip("/") != "messages":
            return Reply(404, {"message": "There is nothing at this address."})
        if request.method == "GET":
            return Reply(200, self.messages)
        return self._take(request.body) if request.method == "POST" else Reply(405, {"message": "Only GET and POST."})

    def _take(self, body: Any) -> Reply:
        to, text = (body.get("to"), body.get("text")) if isinstance(body, dict) else (None, None)
        if not (isinstance(to, str) and to and isinstance(text, str) and text):
            return Reply(400, {"message": "Name to and text."})
        if len(self.messages) >= MAX_MESSAGES:
            return Reply(503, {"message": "The demonstration keeps no more messages."})
        message = {"id": f"M-{len(self.messages) + 1:04d}", "to": to[:200], "text": text[:2000]}
        self.messages.append(message)
        return Reply(202, {"id": message["id"], "accepted": True})
