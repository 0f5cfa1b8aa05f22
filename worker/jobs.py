"""The arq jobs: wake-ups. The work itself is claimed in MongoDB by the lanes (D-24)."""

from __future__ import annotations

from typing import Any

from arq.worker import Function, func

from app.core.queue import TRIAGE_DRAIN

BELL = "bell"
"""Where a job finds the bell in arq's context."""

_JOB_S = 2


async def triage_drain(ctx: dict[Any, Any], *_args: Any, **_kwargs: Any) -> None:
    """An order was created: the lanes look for due events at once."""
    ctx[BELL].ring()


def functions() -> list[Function]:
    """Every job of the queue. A killed worker's job blocks its like for `_JOB_S` + 10 s: the timers go on meanwhile."""
    return [func(triage_drain, name=TRIAGE_DRAIN, timeout=_JOB_S, max_tries=1, keep_result=0)]
