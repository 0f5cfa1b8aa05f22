"""Before and after, word by word, as safe HTML made on the server from frozen values alone (003 §4.6, D-8).

What cannot be seen is shown: control, bidirectional and zero-width characters stand as their code points.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from app.core.unseen import code_point, is_unseen

_WORDS = re.compile(r"\s+|[^\s\w]|\w+")
_MAX_WORDS = 2_000


def visible(text: str) -> Markup:
    """`text` escaped, with what cannot be seen as `⟨U+202E⟩`."""
    return Markup("").join(_character(char) for char in text)


def word_diff(before: str, after: str) -> tuple[Markup, Markup]:
    """`before` with what goes struck out, and `after` with what comes marked; screen readers hear both."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > _MAX_WORDS:
        return _gone(before), _come(after)
    left, right = Markup(""), Markup("")
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[i1:i2]), "".join(new[j1:j2])
        left += visible(gone) if tag == "equal" else _gone(gone)
        right += visible(come) if tag == "equal" else _come(come)
    return left, right


def _gone(text: str) -> Markup:
    return Markup('<del><span class="vh">removed: </span>{}</del>').format(visible(text)) if text else Markup("")


def _come(text: str) -> Markup:
    return Markup('<ins><span class="vh">added: </span>{}</ins>').format(visible(text)) if text else Markup("")


def _character(char: str) -> Markup:
    if is_unseen(char):
        return Markup('<code class="unseen">{}</code>').format(code_point(char))
    return escape(char)
