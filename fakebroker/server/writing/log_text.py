"""What peers say, as one line of a log may show it."""

from __future__ import annotations

MOST_CHARACTERS = 200


def printable(text: str, most: int = MOST_CHARACTERS) -> str:
    """What a terminal would act on is escaped as Python does it (line breaks, ESC, what turns the direction of text),
    and what is longer is cut."""
    cut = text[:most]
    if not cut.isprintable():
        cut = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in cut)
    return cut[:most] + "..." if len(text) > most or len(cut) > most else cut
