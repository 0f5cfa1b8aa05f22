"""English requests → what the person wants, by keywords. Small on purpose: a demo, not a language model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeVar

Kind = Literal[
    "greet", "help", "list", "search", "summarise", "create", "update", "delete", "profile",
    "all_orders", "users", "metrics", "unknown",
]  # fmt: skip
Step = Literal["up", "down"]
T = TypeVar("T", bound=str)
MAX_TITLE = 100
MAX_SEARCH = 64


@dataclass(frozen=True, slots=True)
class Intent:
    """`changes` are fields to write or filters to read by; `step` moves the priority; `words` point at an order."""

    kind: Kind
    changes: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    search: str = ""
    step: Step | None = None


_QUOTED = re.compile(r"[\"“”„«]([^\"“”„«»]+)[\"“”»]|(?<!\w)['‘]([^'‘’]+)['’](?!\w)")
_ORDER = r"(?:work[ -]?orders?|orders?|tickets?|jobs?)"
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_HELLO = r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|thanks|thank you|bye)"
_GREETING = re.compile(rf"\W*{_HELLO}\b(?:\W+(?:there|you|all|everyone|again|demo|desk|copilot|a lot|very much))*\W*\Z")
_HELP = re.compile(r"\bhelp\b|what can you do|how do(es)? (you|this) work|who are you\b|what are you\b")
_POLITE = re.compile(
    rf"\A\W*(?:(?:{_HELLO}|please|(?:could|can|would|will) you|i want to|i'd like to|now|and|then|ok(?:ay)?)\W+)*"
)
_READ = re.compile(r"(show|list|what|which|display|give me|see|view|how many|do i have|tell me|are there|any)\b")
_SEARCH = re.compile(r"(?:search|find|look(?:ing)? for|look up|where(?: i|')s)\b(?:\s+for\b)?\s*(.*)", re.DOTALL)
_ABOUT = re.compile(r"\b(?:about|containing|matching|mentioning|called|named)\s+(.+)", re.DOTALL)
_CREATE = re.compile(
    rf"(create|log|file|report|register|add)\b|(open|raise|make|start)\s+(me\s+)?(a|an)\s+(new\s+|\w+\s+)?{_ORDER}\b"
    rf"|(i need\s+)?(a\s+)?new\s+{_ORDER}\b"
)
_BEFORE_TITLE = r"\s*(?:to|for|about|called|titled|named|that|:|-|,)*\s+(.+)"
_TITLES = tuple(
    re.compile(rf"\b{opening}{_BEFORE_TITLE}", re.DOTALL | re.IGNORECASE)
    for opening in (_ORDER, "(?:create|log|file|report|register|add)")
)
_DETAILS = re.compile(r"[,;.]?\s*(?:with\s+)?(?:the\s+)?(?:description|details?)\s*(?:is|of|:)?\s+(.+)", re.S | re.I)
_PRIORITY_PHRASE = re.compile(
    r"[,;]?\s*\b(?:(?:with|at|as|in)\s+)?(?:an?\s+)?(?:very\s+)?(?:(?:high|low|medium|normal|urgent)\s+priority|priority:?\s+(?:high|low|medium)|urgent(?:ly)?)\b",
    re.I,
)
_DELETE = re.compile(r"\b(delete|remove|discard|get rid of|throw away|cancel)\b")
_RENAME = re.compile(
    r"\b(?:rename|retitle)\b(.*?)\b(?:to|as|into)\s+(.+)|\b(?:change|set|update) (?:the )?title\b(.*?)\bto\s+(.+)",
    re.S | re.I,
)
_DESCRIBE = re.compile(r"\b(?:change|set|update) (?:the |its )?description\b(.*?)\bto\s+(.+)", re.S | re.I)
_PRIORITIES = {
    "high": re.compile(r"\b(high|highest|urgent|critical|top)\b"),
    "low": re.compile(r"\b(low|lowest)\b"),
    "medium": re.compile(r"\b(medium|normal)\b"),
}
_STATUSES = {
    "in_progress": re.compile(r"\b(in[ -_]progress|started|running|under ?way|being worked on)\b"),
    "done": re.compile(r"\b(done|finished|closed|completed?|resolved)\b"),
    "pending": re.compile(r"\b(open|pending|waiting|unstarted|not started)\b"),
}
_STATUS_VERBS = {
    "pending": re.compile(r"\b(re-?open)\b"),
    "in_progress": re.compile(r"\b(start|begin|work on|resume)\b"),
    "done": re.compile(r"\b(close|finish|complete|resolve)\b"),
}
_UP = re.compile(r"\b(raise|increase|bump|escalate|prioriti[sz]e)\b")
_DOWN = re.compile(r"\b(lower|reduce|decrease|drop|downgrade|de-?prioriti[sz]e)\b")
_SET = re.compile(r"\b(set|change|make|mark|put|update|move|turn)\b")
_PERSONAL: dict[Kind, re.Pattern[str]] = {
    "summarise": re.compile(r"\b(summar\w+|overview|on my plate)\b"),
    "profile": re.compile(r"\b(who am i|my (profile|role|name|e-?mail|account))\b"),
}
_ADMIN: dict[Kind, re.Pattern[str]] = {
    "metrics": re.compile(r"\b(metrics|statistics|numbers|uptime|how many users)\b"),
    "all_orders": re.compile(rf"\b(everyone|everybody|all( the| users'?)?)( ?'s)? {_ORDER}"),
    "users": re.compile(r"\b(users|people|accounts|technicians)\b"),
}
_STOP = frozenset(
    """
    a an the my me i its it's it this that these those last latest newest one ones of to as at in on for from
    with and or is are be please can could would will you your priority prioritise prioritize status order
    orders work ticket tickets job jobs raise lower increase reduce decrease bump escalate drop downgrade set
    change make mark put update move turn high higher highest low lower lowest medium normal urgent critical top
    done finished closed completed complete finish close resolve resolved start started begin resume reopen
    re-open open pending progress in-progress delete remove discard cancel get rid throw away now then ok okay
    just recent most up down level want like i'd under way called named titled about which what whose title very
    also both all any everything something hi hello hey thanks thank
    """.split()  # noqa: SIM905 (a list of words reads as words)
)


def parse_intent(text: str) -> Intent:
    """What `text` asks for."""
    lowered = " ".join(text.lower().split())
    request = lowered[_POLITE.match(lowered).end() :]  # type: ignore[union-attr]  # the pattern matches the empty text
    if _GREETING.match(lowered):
        return Intent("greet")
    return _read(request) or _create(text, request) or _write(text, lowered) or _rest(request)


def _read(request: str) -> Intent | None:
    if match := _SEARCH.match(request):
        return Intent("search", search=_search_term(match[1]))
    if kind := _first(_PERSONAL, request):
        return Intent(kind)
    if not _READ.match(request) or _HELP.search(request):
        return None
    if kind := _first(_ADMIN, request):
        return Intent(kind)
    if match := _ABOUT.search(request):
        return Intent("search", search=_search_term(match[1]))
    return Intent("list", changes=_filters(request))


def _create(text: str, request: str) -> Intent | None:
    if not _CREATE.match(request):
        return None
    quoted = _quoted(text)
    outside = _QUOTED.sub(" ", text)
    details = _DETAILS.search(outside)
    fields = {"title": quoted[0] if quoted else _plain_title(outside[: details.start()] if details else outside)}
    if len(quoted) > 1:
        fields["description"] = quoted[1]
    elif details:
        fields["description"] = details[1].strip()[:2000]
    if priority := _first(_PRIORITIES, " ".join(_PRIORITY_PHRASE.findall(outside)).lower()):
        fields["priority"] = priority
    return Intent("create", {key: value for key, value in fields.items() if value})


def _plain_title(text: str) -> str:
    rest = _PRIORITY_PHRASE.sub("", text)
    match = next((found for pattern in _TITLES if (found := pattern.search(rest))), None)
    title = " ".join(match[1].split()).strip(" .!?,;:-") if match else ""
    title = re.sub(r"^(?:to|for|about|a|an|the|that)\s+", "", title, flags=re.IGNORECASE)
    return (title[:1].upper() + title[1:])[:MAX_TITLE] if not re.fullmatch(_ORDER, title, re.IGNORECASE) else ""


def _write(text: str, lowered: str) -> Intent | None:
    if (match := _RENAME.search(text)) is not None:
        new = match[2] or match[4]
        return Intent("update", {"title": _new_value(new)[:MAX_TITLE]}, _words(match[1] or match[3] or ""))
    if (match := _DESCRIBE.search(text)) is not None:
        return Intent("update", {"description": _new_value(match[2])}, _words(match[1]))
    if _DELETE.search(lowered):
        return Intent("delete", words=_words(text))
    changes, step = _changes(lowered)
    return Intent("update", changes, _words(text), step=step) if changes or step else None


def _changes(lowered: str) -> tuple[dict[str, str], Step | None]:
    up, down, sets = (pattern.search(lowered) is not None for pattern in (_UP, _DOWN, _SET))
    changes: dict[str, str] = {}
    if up or down or sets or re.search(r"\bpriority\b", lowered):
        # "from low to high": the last value is the wish
        priority = _first(_PRIORITIES, lowered.rsplit(" to ", 1)[-1]) or _first(_PRIORITIES, lowered)
        changes |= {"priority": priority} if priority else {}
    status = _first(_STATUS_VERBS, lowered) or (_first(_STATUSES, lowered) if sets else None)
    changes |= {"status": status} if status else {}
    step: Step | None = "up" if up else "down" if down else None
    return changes, None if changes else step


def _rest(request: str) -> Intent:
    if _HELP.search(request):
        return Intent("help")
    if re.search(r"\b(metrics|statistics)\b", request):
        return Intent("metrics")
    if re.search(rf"\bmy\b.*\b{_ORDER}\b", request) or re.fullmatch(rf"(\w+ )?{_ORDER}\W*", request):
        return Intent("list", changes=_filters(request))
    return Intent("unknown")


def _filters(request: str) -> dict[str, str]:
    found = {"status": _first(_STATUSES, request), "priority": _first(_PRIORITIES, request)}
    return {key: value for key, value in found.items() if value}


def _first(patterns: dict[T, re.Pattern[str]], text: str) -> T | None:
    return next((value for value, pattern in patterns.items() if pattern.search(text)), None)


def _quoted(text: str) -> list[str]:
    return [" ".join((double or single).split())[:MAX_TITLE] for double, single in _QUOTED.findall(text)]


def _new_value(text: str) -> str:
    quoted = _quoted(text)
    return quoted[0] if quoted else " ".join(text.split()).strip(" .!?")


def _words(text: str) -> tuple[str, ...]:
    """The words that can only point at an order: the quoted ones, or what is left without the request's own."""
    quoted = _quoted(text)
    found = _WORD.findall((quoted[0] if quoted else text).lower())
    kept = (word.removesuffix("'s") for word in found)
    return tuple(word for word in kept if quoted or word not in _STOP)


def _search_term(text: str) -> str:
    quoted = _quoted(text)
    if quoted:
        return quoted[0][:MAX_SEARCH]
    return " ".join(word for word in _WORD.findall(text) if word not in _STOP)[:MAX_SEARCH]
