"""Every template stands on a small context, keeps to the content security policy, and lets no one's text be markup."""

from __future__ import annotations

import re
from datetime import timedelta
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from app.web.templates import (
    STATIC,
    TEMPLATES,
    create_environment,
    duration,
    initials,
    iso,
    kept_lines,
    status_word,
    usd,
    with_query,
)
from app.web.times import ago, day_time
from tests.web.template_contexts import all_contexts
from tests.web.template_objects import HOSTILE, NOW, approval, before, common, listing

ENVIRONMENT = create_environment()
CONTEXTS = all_contexts()
CONTEXTS_BY_NAME = dict(CONTEXTS)
CASES = [pytest.param(name, context, id=f"{name}-{number}") for number, (name, context) in enumerate(CONTEXTS)]
LAYOUTS = {"base.html", "site.html", "app.html", "_ui.html", "_rail.html", "_confirm.html"}
WORDS = {"errors/_words.html", "copilot/_approval_words.html"}


class Reader(HTMLParser):
    """Collects what the checks ask about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.script_bodies: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and data.strip():
            self.script_bodies.append(data)

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.tags if attribute in attrs]


def render(name: str, context: dict[str, Any]) -> str:
    return ENVIRONMENT.get_template(name).render(context)


def poisoned(value: Any) -> Any:
    """`value` with hostile text wherever a person or a model may write; markup made by the server stays."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, dict):
        return {key: poisoned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    if isinstance(value, SimpleNamespace):
        free = {"title", "description", "name", "by_name", "email", "summary", "subject", "text", "search", "reason"}
        free |= {"args_text", "result_text", "note", "found", "question", "message", "off_reason", "proposed_for"}
        changed = {
            key: HOSTILE if key in free and isinstance(item, str) else poisoned(item)
            for key, item in vars(value).items()
        }
        return SimpleNamespace(**changed)
    return value


@pytest.mark.parametrize(("name", "context"), CASES)
def test_every_template_renders_from_a_small_context(name: str, context: dict[str, Any]) -> None:
    """HTTP-5: nothing a template asks for is missing; nothing is rendered by accident."""
    text = render(name, context)
    assert "None" not in re.sub(r"<[^>]*>", "", text)
    assert "Undefined" not in text


def test_every_template_file_has_a_context() -> None:
    """HTTP-5: a template without a context here would be one that nobody has ever seen whole."""
    files = {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html")}
    assert files - LAYOUTS - WORDS == {name for name, _ in CONTEXTS}


@pytest.mark.parametrize(("name", "context"), CASES)
def test_no_template_needs_inline_script_or_style(name: str, context: dict[str, Any]) -> None:
    """HTTP-6: the content security policy has neither `unsafe-inline` nor `unsafe-eval`."""
    page = Reader(render(name, context))
    attributes = {attribute for _, attrs in page.tags for attribute in attrs}
    assert "style" not in attributes
    assert not [attribute for attribute in attributes if attribute.startswith(("on", "hx-on"))]
    assert not [tag for tag, _ in page.tags if tag == "style"]
    assert not page.script_bodies
    values = [value or "" for _, attrs in page.tags for value in attrs.values()]
    assert not [value for value in values if value.startswith(("js:", "javascript:"))]


@pytest.mark.parametrize(("name", "context"), CASES)
def test_every_icon_that_is_used_is_in_the_sprite(name: str, context: dict[str, Any]) -> None:
    """HTTP-5: an icon that is missing is an empty square."""
    sprite = set(re.findall(r'id="(i-[a-z_-]+)"', (TEMPLATES / "_icons.svg").read_text()))
    used = {attrs["href"] for tag, attrs in Reader(render(name, context)).tags if tag == "use"}
    assert {(address or "").removeprefix("#") for address in used} <= sprite


@pytest.mark.parametrize(("name", "context"), CASES)
def test_hostile_text_is_never_markup(name: str, context: dict[str, Any]) -> None:
    """SEC-4: neither a title, a name, a reason nor what a model wrote becomes an element or a live htmx attribute."""
    clean, text = render(name, context), render(name, poisoned(context))
    assert "<script>alert" not in text
    assert "onerror" not in {attribute for _, attrs in Reader(text).tags for attribute in attrs}
    assert text.count("<hx-") == clean.count("<hx-")
    assert text.count("<img") == 0


@pytest.mark.parametrize(("name", "context"), CASES)
def test_ids_are_unique_and_labels_and_descriptions_lead_somewhere(name: str, context: dict[str, Any]) -> None:
    """HTTP-5: a screen reader follows `for`, `aria-describedby`, `aria-labelledby` by id."""
    page = Reader(render(name, context))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    pointed = [*page.values("for"), *" ".join(page.values("aria-describedby")).split()]
    assert set(pointed) <= set(ids)


@pytest.mark.parametrize(("name", "context"), CASES)
def test_every_form_that_writes_works_without_javascript(name: str, context: dict[str, Any]) -> None:
    """HTTP-5, HTTP-6: each form has a method and an address, and those of a page carry the CSRF token."""
    page = Reader(render(name, context))
    forms = [attrs for tag, attrs in page.tags if tag == "form"]
    assert all(attrs.get("action") and attrs.get("method") in ("get", "post") for attrs in forms)
    writing = [attrs for attrs in forms if attrs["method"] == "post"]
    tokens = [attrs for tag, attrs in page.tags if tag == "input" and attrs.get("name") == "_csrf_token"]
    assert len(tokens) == (len(writing) if "csrf_token" in context else 0)


@pytest.mark.parametrize("state", ["executed", "rejected", "expired", "stale", "aborted", "error"])
def test_a_decided_approval_offers_no_decision(state: str) -> None:
    """COP-5: the same card says what became of it and takes no second decision."""
    text = render("copilot/_approval_modal.html", {"approval": approval(state)})
    assert "data-approve" not in text
    assert "/decide" not in text


def test_the_modal_gives_remaining_time_and_never_focuses_approve() -> None:
    """D-8: time left comes as milliseconds from the server, and Approve is never where Enter is."""
    page = Reader(render("copilot/_approval_modal.html", {"approval": approval()}))
    (focused,) = [(tag, attrs) for tag, attrs in page.tags if "autofocus" in attrs]
    assert focused[0] == "h2"
    assert page.values("data-expires-in-ms") == ["581000"]
    assert page.values("name").count("confirmation_token") == 2


def test_line_breaks_of_streamed_text_are_references() -> None:
    """D-23: a stream that carries one line per message loses no line break of what will run."""
    assert kept_lines("a\n<b>\r\nc") == "a&#10;&lt;b&gt;&#10;c"
    assert kept_lines(Markup("<ins>a\nb</ins>")) == "<ins>a&#10;b</ins>"


def test_a_search_that_was_cut_short_says_how_far_it_came_and_goes_on() -> None:
    """WO-4, HTTP-5: a page without rows is not the end of a search that stopped early."""
    found = {"items": [], "next_cursor": "next", "searched_to": before(days=90)}
    text = render("work_orders/_list.html", common() | listing(orders=found))
    assert "Searched back to" in text
    assert "27 Aug 2026" in text
    assert 'rel="next"' in text


def test_the_history_tells_what_was_undone() -> None:
    """HTTP-5, D-30: an undo reads as one, whatever it brought back."""
    words = " ".join(
        re.sub(
            r"<[^>]*>", " ", render("work_orders/_history.html", CONTEXTS_BY_NAME["work_orders/_history.html"])
        ).split()
    )
    assert "Ada Moss changed priority to undo an earlier change" in words
    assert "Ada Moss restored this work order to undo an earlier change" in words


def test_a_missing_value_is_an_error() -> None:
    """HTTP-5: a template never renders an empty place for what a page forgot."""
    with pytest.raises(UndefinedError):
        render("copilot/_stream.html", {})


def test_assets_carry_their_content_in_their_address() -> None:
    """HTTP-5: a changed file has a new address; fonts are named the same in the preload and in the stylesheet."""
    asset = ENVIRONMENT.globals["asset"]
    assert callable(asset)
    assert re.fullmatch(r"/static/css/tokens\.css\?v=[0-9a-f]{10}", asset("css/tokens.css"))
    font = asset("vendor/inter/inter-latin-wght-normal.woff2")
    assert font.removeprefix("/static/") in (STATIC / "css/tokens.css").read_text().replace("../", "")


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=12), "12 min ago"),
        (timedelta(hours=2), "2 h ago"),
        (timedelta(hours=23), "Yesterday"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=13), "12 Nov"),
        (timedelta(days=400), "21 Oct 2025"),
    ],
)
def test_times_are_told_in_words(since: timedelta, words: str) -> None:
    """HTTP-5: relative times as a person says them."""
    assert ago(NOW - since, NOW) == words


def test_words_and_numbers_for_people() -> None:
    """HTTP-5: one place for the words of statuses, names, money and addresses."""
    assert iso(before(days=0)) == "2026-11-25T10:30:00.000Z"
    assert day_time(NOW) == "25 Nov 2026, 10:30 UTC"
    assert status_word("in_progress") == "In progress"
    assert status_word("something_new") == "Something new"
    assert [initials(name) for name in ("Rosa Lind", "Ada", "María de la Paz", "")] == ["RL", "A", "MP", "?"]
    assert [usd(amount) for amount in (0, 0.0004, 0.41, 1234.5)] == ["$0.00", "$0.0004", "$0.41", "$1,234.50"]
    assert [duration(seconds) for seconds in (45, 750, 11_000, 400_000)] == ["45 s", "12 min", "3 h", "4 days"]
    assert with_query("/x", {"a": "1", "b": None}, c="é", a=None) == "/x?c=%C3%A9"
