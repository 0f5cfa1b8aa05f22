"""Replays the original desk's recorded exchanges against this one, and compares, but for the known differences.

A recorded answer matches when statuses, codes, field names and values are the same; ids, times, cursors and the
original's own wordings were replaced by placeholders (`<order>`, `<time>`) when it was recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from bson import json_util

from tests.copilot.talk import Heard, decide, say_to
from tests.wire.differences import ADDED, DROPPED, LONGER, OTHER, STATUS

WIRE = Path(__file__).resolve().parents[1] / "data" / "wire"
PLACEHOLDER = re.compile(r"<[a-z0-9 ]+>\Z")
_LONG = re.compile(r".*…<(\d+) characters>\Z", re.DOTALL)
_NAMED = re.compile(r"<(?:user|user2|admin|viewer|order|order2|session|run)>\Z")
_ABSENT_ID = "0" * 24

Exchange = dict[str, Any]


def exchanges() -> list[Exchange]:
    """All of them, in the order of the recording; the run that was asked for later has a name from its start."""
    recorded: list[Exchange] = json.loads((WIRE / "exchanges.json").read_text())
    for exchange in recorded:
        if exchange["note"] == "manual triage":
            exchange["response"]["body"]["data"]["runId"] = "<run>"
        if exchange["note"] == "run detail":
            exchange["request"]["path"] = exchange["request"]["path"].replace("<id>", "<run>")
    return recorded


def stored_rows(now: datetime) -> dict[str, list[dict[str, Any]]]:
    """What the original's database held afterwards, by collection; moved by whole days, as if recorded lately."""
    found: dict[str, list[dict[str, Any]]] = json_util.loads(
        (WIRE / "database.json").read_text(), json_options=json_util.JSONOptions(tz_aware=True, tzinfo=UTC)
    )
    newest = max(row["createdAt"] for rows in found.values() for row in rows)
    moved: dict[str, list[dict[str, Any]]] = _moved(found, timedelta(days=(now - newest).days))
    return moved


def _moved(value: Any, by: timedelta) -> Any:
    if isinstance(value, dict):
        return {key: _moved(item, by) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, by) for item in value]
    return value + by if isinstance(value, datetime) else value


@dataclass
class Replay:
    """The people of the recording, and the ids that its placeholders stand for here."""

    new_client: Callable[[], Awaitable[httpx.AsyncClient]]
    ids: dict[str, str] = field(default_factory=dict)
    _clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)

    async def client(self, who: str) -> httpx.AsyncClient:
        """The person's own; `anonymous` is somebody new each time."""
        if who == "anonymous":
            return await self.new_client()
        if who not in self._clients:
            self._clients[who] = await self.new_client()
        return self._clients[who]

    async def play(self, exchange: Exchange) -> None:
        """Sends the request and compares the answer. Raises `AssertionError` that names the exchange."""
        recorded = exchange["response"]
        if "events" in recorded:
            await self._play_stream(exchange)
            return
        note, client = exchange["note"], await self.client(exchange["as"])
        answer = await self._send(client, exchange["request"])
        assert answer.status_code == STATUS.get(note, recorded["status"]), f"{note}: {answer.text}"
        if note in STATUS:
            return
        assert _cookies(answer) == _recorded_cookies(recorded), note
        self.match(recorded["body"], answer.json() if answer.content else None, note)

    async def _send(self, client: httpx.AsyncClient, request: dict[str, Any]) -> httpx.Response:
        path = self.filled(request["path"])
        if "raw" in request:
            return await client.request(request["method"], path, content=request["raw"], headers=request["headers"])
        body = {"json": self.filled(_expanded(request["json"]))} if "json" in request else {}
        return await client.request(request["method"], path, **body)

    def filled(self, value: Any) -> Any:
        """`value` with our ids in place of placeholders; `<id>` is one that does not exist."""
        text = json.dumps(value)
        for placeholder, known in self.ids.items():
            text = text.replace(placeholder, known)
        return json.loads(text.replace("<id>", _ABSENT_ID))

    # -- streams -----------------------------------------------------------------------------------------------

    async def _play_stream(self, exchange: Exchange) -> None:
        note, recorded = exchange["note"], exchange["response"]
        client = await self.client(exchange["as"])
        session = self.ids["<session>"]
        async with say_to(client, session, exchange["request"]["json"]["content"]) as stream:
            for name, value in recorded["headers"].items():
                assert stream.response.headers[name].startswith(value), f"{note}: {name}"
            steps = _without_tokens(recorded["events"])
            while steps:
                step = steps.pop(0)
                if "decide" in step:
                    continue
                heard = await stream.until(step["event"])
                self.match(step["data"], heard.data, f"{note}: {step['event']}")
                if steps and "decide" in steps[0]:
                    answer = await decide(client, heard.data["toolCallId"], approve=steps[0]["decide"])
                    expected = steps[0]["response"]
                    assert answer.status_code == expected["status"], f"{note}: {answer.text}"
                    self.match(expected["body"], answer.json(), f"{note}: decide")
            events = await stream.to_the_end()
        assert _spoken(events) == _recorded_words(recorded["events"]), note
        assert _names(events) == [one["event"] for one in _without_tokens(recorded["events"]) if "event" in one], note

    # -- comparison --------------------------------------------------------------------------------------------

    def match(self, expected: Any, given: Any, where: str) -> None:
        """Equal, but for placeholders and the known differences; ids that have a name are learned."""
        other = next((rule for rule in OTHER if rule.applies(where, expected)), None)
        if other is not None:
            assert other.holds(given), f"{where}: {given!r} ({other.why})"
        elif isinstance(expected, str) and PLACEHOLDER.match(expected):
            self._match_placeholder(expected, given, where)
        elif isinstance(expected, str) and expected.startswith("[{"):
            self.match(json.loads(expected), json.loads(given) if isinstance(given, str) else given, where)
        elif isinstance(expected, dict):
            self._match_object(expected, given, where)
        elif isinstance(expected, list):
            assert isinstance(given, list), f"{where}: {given!r}"
            given = given[: len(expected)] if LONGER.search(where) else given
            assert len(given) == len(expected), f"{where}: {given!r}"
            for number, (one, another) in enumerate(zip(expected, given, strict=True)):
                self.match(one, another, f"{where}[{number}]")
        else:
            assert given == expected, f"{where}: {given!r} instead of {expected!r}"

    def _match_placeholder(self, expected: str, given: Any, where: str) -> None:
        if expected == "<message>":  # our own words: text, or a reason with its code
            assert given, where
            return
        assert isinstance(given, str), f"{where}: {given!r}"
        assert given, where
        if _NAMED.match(expected):
            assert self.ids.setdefault(expected, given) == given, f"{where}: another {expected}"

    def _match_object(self, expected: Mapping[str, Any], given: Any, where: str) -> None:
        assert isinstance(given, dict), f"{where}: {given!r}"
        dropped = {name for pattern, names in DROPPED if pattern.search(where) for name in names}
        wanted = {_RENAMED.get(key, key): value for key, value in expected.items() if key not in dropped}
        missing, extra = wanted.keys() - given.keys(), given.keys() - wanted.keys()
        assert not missing, f"{where}: {sorted(missing)} missing"
        unexpected = extra - ADDED
        assert not unexpected, f"{where}: {sorted(unexpected)} came in"
        for key, value in wanted.items():
            self.match(value, given[key], f"{where}.{key}")


_RENAMED = {"_id": "id"}


def _expanded(value: Any) -> Any:
    """The long texts that the recording shortened, at their length."""
    if isinstance(value, dict):
        return {key: _expanded(item) for key, item in value.items()}
    long = _LONG.match(value) if isinstance(value, str) else None
    return "x" * int(long.group(1)) if long else value


def _without_tokens(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How words are cut into chunks is the model server's affair."""
    return [one for one in events if one.get("event") != "token"]


def _recorded_words(events: list[dict[str, Any]]) -> str:
    return "".join(one["data"]["content"] for one in events if one.get("event") == "token")


def _spoken(events: list[Heard]) -> str:
    return "".join(event.data["content"] for event in events if event.name == "token")


def _names(events: list[Heard]) -> list[str]:
    """Our events without what the original did not have (D-23)."""
    return [event.name for event in events if event.name not in ("token", "tool_call_start", "ping")]


def _cookies(answer: httpx.Response) -> dict[str, tuple[bool, list[str]]]:
    """Per cookie whether it is emptied, and its attributes; each carries an expiry of its own."""
    found = {}
    for header in answer.headers.get_list("set-cookie"):
        pair, *attributes = header.split("; ")
        name, value = pair.split("=", 1)
        if name == "csrf":  # of our own forms; API clients need none
            continue
        kept = sorted(part for part in attributes if not part.lower().startswith("expires="))
        assert len(kept) == len(attributes) - 1
        found[name] = (value in ("", '""'), kept)
    return found


def _recorded_cookies(recorded: dict[str, Any]) -> dict[str, tuple[bool, list[str]]]:
    """As recorded, but for `Path=/` of both (AUTH-4)."""
    found = {}
    for cookie in recorded.get("cookies", []):
        kept = [part for part in cookie["attributes"] if not part.startswith("Expires=")]
        found[cookie["name"]] = (
            cookie["empty"],
            sorted("Path=/" if part.startswith("Path=") else part for part in kept),
        )
    return found
