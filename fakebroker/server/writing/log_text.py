"""Text from peers, made safe for one line of a log."""

from __future__ import annotations

MOST_CHARACTERS = 200


def printable(text: str, most: int = MOST_CHARACTERS) -> str:
    """Escape what a terminal would act on, as Python does (line breaks, ESC, marks of text direction), and cut long
    text."""
    cut = text[:most]
    if not cut.isprintable():
        cut = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in cut)
    return cut[:most] + "..." if len(text) > most or len(cut) > most else cut
