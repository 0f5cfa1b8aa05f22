"""A model's words, made storable: halves of surrogate pairs joined or replaced, NUL shown (scenario 2.6)."""

from __future__ import annotations

_REPLACEMENT = "\ufffd"
_SHOWN_NUL = "\u2400"


def join_surrogates(text: str) -> str:
    """`text` with each high surrogate that meets its low one as the character they mean."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def readable(text: str) -> str:
    """`text` with lone surrogates as U+FFFD and NUL as the visible U+2400."""
    shown = text.replace("\x00", _SHOWN_NUL)
    if shown.isascii():
        return shown
    return "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in join_surrogates(shown))


class TextFlow:
    """Text in pieces: holds back a high surrogate at the end of one until the next piece shows its partner."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return readable(text[: len(text) - len(self._held)])

    def end(self) -> str:
        text, self._held = readable(self._held), ""
        return text
