"""Arguments of the Python API, checked for their types: a slip is told at once, in a sentence that says what is right.

Booleans are no numbers here.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """What an argument may be."""

    words: str
    types: tuple[type, ...]


WHOLE_NUMBER = Kind("a whole number", (int,))


def require(kind: Kind, **arguments: object) -> None:
    """Raise TypeError unless each argument is of that kind."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, kind.types):
            raise TypeError(f"{name} must be {kind.words}, not {value!r}")
