"""The model's Markdown as HTML that can do nothing: rendered here, then sanitised (COP-7).

No raw HTML, no images, no attribute that htmx would act on: `hx-*`, `data-*` and `<hx-…>` never pass, whatever the
renderer lets through (htmx acts on them even inside `hx-ignore`).
"""

from __future__ import annotations

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

MAX_CHARS = 40_000
_TAGS = {
    "p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr",
    "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "a",
}  # fmt: skip
_MARKDOWN = MarkdownIt("js-default", {"html": False, "linkify": False}).disable(["image", "html_block", "html_inline"])


def rendered(text: str) -> Markup:
    """`text` as sanitised HTML. Headings become small ones; links open outside and tell nobody where from."""
    html = _MARKDOWN.render(text[:MAX_CHARS]).replace("<h1>", "<h3>").replace("</h1>", "</h3>")
    html = html.replace("<h2>", "<h3>").replace("</h2>", "</h3>")
    return Markup(  # noqa: S704 - nh3 has cleaned it
        nh3.clean(
            html,
            tags=_TAGS,
            attributes={"a": {"href"}, "th": set(), "td": set()},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
            set_tag_attribute_values={"a": {"target": "_blank"}},
        )
    )
