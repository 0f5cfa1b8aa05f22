"""The Jinja2 environment of the desk: strict, autoescaping, with the filters and words its templates use.

Usable with Litestar: `JinjaTemplateEngine.from_environment(create_environment())`. `asset`, `parts` and `with_query`
are there in every template; all else comes from the page (DATA is passed in, never fetched by a template).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.core.clock import iso_ms
from app.web import parts
from app.web.times import ago, day_time

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES, STATIC = ROOT / "templates", ROOT / "static"

STATUS_WORDS = {
    "pending": "Pending",
    "in_progress": "In progress",
    "done": "Done",
    "complete": "Complete",
    "budget_exceeded": "Limit reached",
    "error": "Did not work",
    "executed": "Done",
    "blocked": "Not allowed",
    "stale": "Out of date",
    "expired": "Time ran out",
    "aborted": "Stopped",
    "approved": "Approved",
}
PRIORITY_WORDS = {"low": "Low", "medium": "Medium", "high": "High"}
ROLE_WORDS = {"admin": "Dispatcher", "user": "Technician", "viewer": "Viewer"}


def create_environment(templates: Path = TEMPLATES, static: Path = STATIC, *, reload: bool = False) -> Environment:
    """The environment over `templates`; `reload` re-reads changed templates and assets (development)."""
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=reload,
    )
    environment.filters.update(
        ago=ago,
        iso=iso,
        day_time=day_time,
        status_word=status_word,
        priority_word=priority_word,
        role_word=role_word,
        initials=initials,
        usd=usd,
        duration=duration,
        with_query=with_query,
        grouped=grouped,
        kept_lines=kept_lines,
        time=parts.time,  # as `ui.time`, without the cost of a call from a template
    )
    environment.globals["parts"] = parts
    environment.globals["asset"] = asset = partial(_address, static)
    if not reload:
        environment.globals["asset"] = cache(asset)
    return environment


def _address(static: Path, path: str) -> str:
    # Stylesheets name the fonts without a version: a preload must use the very same address.
    return f"/static/{path}" if path.endswith(".woff2") else f"/static/{path}?v={_version(static / path)}"


def _version(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:10]


def iso(moment: datetime) -> str:
    """ISO-8601 UTC with milliseconds and `Z`, for `datetime` attributes."""
    return iso_ms(moment)


def status_word(status: str) -> str:
    """A status of an order, run or call, as a person says it."""
    return STATUS_WORDS.get(status) or status.replace("_", " ").capitalize()


def priority_word(priority: str) -> str:
    return PRIORITY_WORDS.get(priority) or priority.capitalize()


def role_word(role: str) -> str:
    return ROLE_WORDS.get(role) or role.capitalize()


def initials(name: str) -> str:
    """The first letters of the first and the last word, at most two."""
    words = [word for word in name.split() if word[:1].isalnum()]
    letters = words[:1] + words[1:][-1:]
    return "".join(word[0] for word in letters).upper() or "?"


def usd(amount: float) -> str:
    """Dollars: two decimals, four below ten cents, so that the cost of one call is not shown as nothing."""
    return f"${amount:,.2f}" if amount == 0 or abs(amount) >= 0.10 else f"${amount:,.4f}"


def duration(seconds: int) -> str:
    """A span in its largest unit: `45 s`, `12 min`, `3 h`, `2 days`."""
    for size, word in ((2 * 86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // (86400 if word == 'days' else size)} {word}"
    return f"{seconds} s"


def with_query(path: str, query: Mapping[str, Any] | None = None, **changes: Any) -> str:
    """`path` with `query`, `changes` laid over it; what is None or empty is left out."""
    merged = {**(query or {}), **changes}
    kept = {key: value for key, value in merged.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def grouped(digest: str, size: int = 4) -> str:
    """A hash in groups of `size`, to be compared by eye."""
    return " ".join(digest[start : start + size] for start in range(0, len(digest), size))


def kept_lines(text: str) -> Markup:
    """`text` escaped, its line breaks as references: they outlive a stream that carries one line per message."""
    return Markup(escape(text).replace("\r\n", "\n").replace("\n", Markup("&#10;")))  # noqa: S704 - escaped before
