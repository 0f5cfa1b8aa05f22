"""Readers of streams in a process of their own: `python -m bench.listeners`, a JSON job on stdin, a result on stdout.

They speak HTTP/1.1 by hand, so that on a small machine the readers cost as little as can be.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bench.stage import ROOT, BenchError, Stage

_STAMP = re.compile(rb"(\d+\.\d{6}) ")
_NAME = re.compile(rb"^event: (\w+)$", re.MULTILINE)
_PROCESS_S = 300.0
_STREAM_S = 240.0


@dataclass(frozen=True, slots=True)
class Ask:
    """One request whose answer is a stream, heard to its end, or until an event named `until`."""

    url: str
    headers: dict[str, str]
    body: dict[str, Any]
    until: str = ""


@dataclass(frozen=True, slots=True)
class Heard:
    """One stream: seconds to its first token and to its end, and how late each token came, in milliseconds.

    `arrived_s` has the seconds to the last event of each name, where the stream was heard until one of them.
    """

    first_s: float
    total_s: float
    lags_ms: list[float]
    arrived_s: dict[str, float] = field(default_factory=dict)


def hear(at: Stage, asks: list[Ask], *, spread_s: float = 0.0) -> list[Heard]:
    """All streams at once, their starts spread over `spread_s`. Raises `BenchError` when one broke off."""
    job = json.dumps({"asks": [asdict(ask) for ask in asks], "spread_s": spread_s})
    done = subprocess.run(
        [sys.executable, "-m", "bench.listeners"], input=job, capture_output=True, text=True, cwd=at.folder,
        env=at.environment("bench", None), timeout=_PROCESS_S, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BenchError(f"A stream broke off ({ROOT.name}): {done.stderr.strip().splitlines()[-1:]}")
    return [Heard(**heard) for heard in json.loads(done.stdout)]


async def _all(job: dict[str, Any]) -> list[dict[str, Any]]:
    pause = job["spread_s"] / max(1, len(job["asks"]))
    async with asyncio.timeout(_STREAM_S), asyncio.TaskGroup() as group:
        tasks = [group.create_task(_one(Ask(**ask), number * pause)) for number, ask in enumerate(job["asks"])]
    return [asdict(task.result()) for task in tasks]


async def _one(ask: Ask, delay_s: float) -> Heard:
    await asyncio.sleep(delay_s)
    parts = urlsplit(ask.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    body = json.dumps(ask.body).encode()
    headers = {"Host": parts.netloc, "Connection": "close", "Content-Type": "application/json", **ask.headers}
    lines = [f"POST {parts.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)
    try:
        started = time.monotonic()
        await _accepted(reader)
        return await (_read_until(reader, started, ask.until) if ask.until else _read(reader, started))
    finally:
        writer.close()


async def _accepted(reader: asyncio.StreamReader) -> None:
    status = await reader.readline()
    if b" 200 " not in status:
        raise ConnectionError(status.decode() + (await reader.read(2_000)).decode(errors="replace")[-500:])


async def _read(reader: asyncio.StreamReader, started: float) -> Heard:
    """To the end; a token is told by its stamp, which never stands across two events."""
    first, lags, rest = 0.0, [], b""
    while piece := await reader.read(65_536):
        now = time.monotonic()
        *whole, rest = (rest + piece).split(b"\n\n")
        for event in whole:
            if b'"message_done"' in event:
                continue  # it repeats the whole answer
            stamps = [float(stamp) for stamp in _STAMP.findall(event)]
            first = first or (now if stamps else 0.0)
            lags += [(now - stamp) * 1000 for stamp in stamps]
    return Heard(first - started, time.monotonic() - started, lags)


async def _read_until(reader: asyncio.StreamReader, started: float, until: str) -> Heard:
    """As far as an event of that name; the stream may go on."""
    arrived: dict[str, float] = {}
    rest = b""
    while until not in arrived:
        piece = await reader.read(65_536)
        if not piece:
            raise ConnectionError(f"the stream ended before {until}; it told {', '.join(arrived)}")
        *whole, rest = (rest + piece).split(b"\n\n")
        for event in whole:
            arrived |= {name.decode(): time.monotonic() - started for name in _NAME.findall(event)}
    return Heard(0.0, time.monotonic() - started, [], arrived)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_all(json.load(sys.stdin)))))
