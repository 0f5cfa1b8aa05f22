"""The running desk of the copilot part, its model, and who may talk to it."""

from __future__ import annotations

from dataclasses import dataclass

from bson import ObjectId

from bench.crowd import new_session, signed_in
from bench.listeners import Ask
from bench.stage import Program, Stage

DATABASE = "bench_copilot"


@dataclass(frozen=True, slots=True)
class House:
    """`users` are technicians by place."""

    at: Stage
    web: Program
    model: Program
    users: list[ObjectId]

    def cookies(self, place: int) -> dict[str, str]:
        return signed_in(self.at, DATABASE, self.users[place])

    def ask(self, place: int, message: str, until: str = "") -> Ask:
        """A message of that person in a new conversation, heard to its end or until an event of that name."""
        headers = self.cookies(place)
        return Ask(new_session(self.web.url, headers), headers, {"content": message}, until)

    def direct(self, message: str) -> Ask:
        """The same message to the model itself."""
        body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": message}]}
        return Ask(f"{self.model.url}/v1/chat/completions", {}, body)
