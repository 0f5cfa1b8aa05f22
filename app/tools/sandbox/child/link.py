"""The pipe to the desk: one JSON object per line, each way. The desk answers every question with one line."""

from __future__ import annotations

import json
import os
from typing import Any


class Link:
    """Blocking on purpose: there is one conversation, and the tool waits for the answer anyway.

    Messages to the desk are objects with one key: `ask` (with `with`), `done`, `described`, `refused`, `failed`,
    `bad`, `held`, `broken`, or, from the keeper, `ended`.
    """

    def __init__(self, reading: int, writing: int, message_bytes: int) -> None:
        self._lines = os.fdopen(reading, "rb")
        self._writing = writing
        self._limit = message_bytes

    def receive(self) -> dict[str, Any]:
        """The next line from the desk. Raises `EOFError` when it is gone."""
        line = self._lines.readline(self._limit + 1)
        if not line.endswith(b"\n"):
            raise EOFError("the desk has ended the call")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise EOFError("the desk sent no object")
        return message

    def send(self, message: dict[str, Any]) -> None:
        """Raises `ValueError` when it is longer than the limit or is no JSON, `TypeError`, `RecursionError`."""
        line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if len(line) > self._limit:
            raise ValueError(f"is larger than {self._limit // 1024} kB")
        while line:
            line = line[os.write(self._writing, line) :]

    def ask(self, name: str, params: dict[str, Any]) -> Any:
        """The desk's answer. Raises `RuntimeError` with its sentence when it refuses, `ValueError`, `EOFError`."""
        self.send({"ask": name, "with": params})
        reply = self.receive()
        if "error" in reply:
            raise RuntimeError(str(reply["error"]))
        return reply["ok"]
