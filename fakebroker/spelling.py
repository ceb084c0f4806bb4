"""Suggestions for misspelt names. Every layer may import this file, which imports nothing before there is a mistake."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 100  # characters of a word that are compared: the time grows with their square


def closest(word: object, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known names that are most like the word, in upper or lower case."""
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    return [names[near] for near in get_close_matches(str(word)[:_LONGEST].lower(), names, most)]


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word: the closest name, or else all of them."""
    names = list(known)
    near = closest(word, names)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"


def known_name(word: str, known: Iterable[str], kind: str) -> str:
    """Return the known name that the word is, in upper or lower case. Raise ValueError with the closest one."""
    names = {name.lower(): name for name in known}
    if word.lower() not in names:
        raise ValueError(f"there is no {kind} {word!r}: {did_you_mean(word, names.values())}")
    return names[word.lower()]


def near_to_it(name: str, known: Iterable[str]) -> str:
    """Return the sentence that follows one about an unknown setting: the closest names, or where all are listed."""
    near = closest(name, known, 3)
    return f"Near to it: {', '.join(near)}." if near else "`fakebroker configs` lists them."
