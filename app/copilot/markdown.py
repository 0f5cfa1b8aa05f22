"""The model's Markdown as HTML that can do nothing: rendered here, then sanitised (COP-7).

No raw HTML, no images, no attribute that htmx would act on: `hx-*`, `data-*` and `<hx-…>` never pass, whatever the
renderer lets through (htmx acts on them even inside `hx-ignore`).
"""

from __future__ import annotations

import re

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

MAX_CHARS = 40_000
_TAGS = {
    "p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr",
    "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "a",
}  # fmt: skip
_OWN_ADDRESS = re.compile(r"/app/[A-Za-z0-9/_-]*")
_HEADINGS = re.compile(r"<(/?)h[12]>")
_MARKDOWN = MarkdownIt("js-default", {"html": False, "linkify": False}).disable(["image", "html_block", "html_inline"])


def rendered(text: str) -> Markup:
    """`text` as sanitised HTML. Headings become small ones; only links into the desk stay links."""
    html = _MARKDOWN.render(text[:MAX_CHARS])
    html = _HEADINGS.sub(r"<\1h3>", html)
    return Markup(  # noqa: S704 - nh3 has cleaned it
        nh3.clean(
            html,
            tags=_TAGS,
            attributes={"a": {"href"}},
            attribute_filter=_only_own_addresses,
            url_schemes=set(),
            link_rel=None,
        )
    )


def _only_own_addresses(_tag: str, _name: str, value: str) -> str | None:
    """A link out of the desk could carry what was read to whoever planted it: its text stays, its address goes."""
    return value if _OWN_ADDRESS.fullmatch(value) else None
