"""The smallest parts of pages, which stand there by the dozen: as macros they cost half of a list page.

`_ui.html` exports them beside its macros. Nothing that comes from outside goes into them unescaped.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from markupsafe import Markup

from app.core.clock import iso_ms
from app.web.times import ago, day_time


@lru_cache(maxsize=256)
def icon(name: str, kind: str = "") -> Markup:
    """The icon `name` of `_icons.svg`, with `kind` as a class more."""
    classes = f"i {kind}" if kind else "i"
    return Markup('<svg class="{}" aria-hidden="true"><use href="#i-{}"/></svg>').format(classes, name)


def time(moment: datetime, now: datetime, kind: str = "") -> Markup:
    """How long before `now`, the day and time as a title; with the class `kind`."""
    classes = Markup(' class="{}"').format(kind) if kind else ""
    return _time(moment, f'data-time="relative"{classes}', ago(moment, now))


def day(moment: datetime) -> Markup:
    """The day and time."""
    return _time(moment, 'data-time="absolute"', day_time(moment))


def _time(moment: datetime, attributes: str, words: str) -> Markup:
    title = day_time(moment)
    return Markup(  # noqa: S704 - digits and words of ours; the class was escaped
        f'<time datetime="{iso_ms(moment)}" title="{title}" {attributes}>{words}</time>'
    )
