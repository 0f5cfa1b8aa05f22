"""What cannot be seen in a text, made visible: control, bidirectional, zero-width characters as code points (D-8)."""

from __future__ import annotations

import unicodedata

_KEPT_CONTROLS = frozenset("\n\t")
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})


def is_unseen(char: str) -> bool:
    """Whether `char` leaves no ink, or reorders what does. Line feed and tab are ordinary."""
    return char not in _KEPT_CONTROLS and unicodedata.category(char) in _INVISIBLE


def code_point(char: str) -> str:
    """`⟨U+202E⟩`."""
    return f"⟨U+{ord(char):04X}⟩"


def revealed(text: str) -> str:
    """`text` with what cannot be seen as code points; plain text, to be escaped where it is shown."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(code_point(char) if is_unseen(char) else char for char in text)
