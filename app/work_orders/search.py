"""How titles are folded and cut for search (WO-4, DATA-3).

Both sides are folded alike (NFKC, case folding). A trigram that few titles hold leads straight to them; a term
without one is looked for in an index of folded titles, newest first.
"""

from __future__ import annotations

import re
import unicodedata

GRAM = 3


def fold(text: str) -> str:
    """`text` without differences of case and of compatible forms."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def grams(folded: str) -> list[str]:
    """The distinct trigrams of a folded text, in order of appearance."""
    return list(dict.fromkeys(folded[at : at + GRAM] for at in range(len(folded) - GRAM + 1)))


def literal_pattern(folded: str) -> str:
    """A pattern that finds exactly `folded`: nothing in it is interpreted (WO-4)."""
    return re.escape(folded)


def folded_fields(title: str) -> dict[str, object]:
    """What is stored beside a live order's title."""
    folded = fold(title)
    return {"titleFold": folded, "titleGrams": grams(folded)}
