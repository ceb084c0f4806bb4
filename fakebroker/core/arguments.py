"""Checks of the argument types of the Python API. A slip raises at once, with a sentence that names the valid types.

Booleans are no numbers here. Missing arguments are not checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import NoneType
from typing import NamedTuple


class Kind(NamedTuple):
    """The valid types of an argument, and their name in messages."""

    words: str
    types: tuple[type, ...]


WHOLE_NUMBER = Kind("a whole number", (int,))
WHOLE_NUMBER_OR_NONE = Kind("a whole number or None", (int, NoneType))
NUMBER_OR_NONE = Kind("a number or None", (int, float, NoneType))
STRING = Kind("a string", (str,))
STRING_OR_NONE = Kind("a string or None", (str, NoneType))
PATH_OR_NONE = Kind("a path or None", (str, PathLike, NoneType))
MAPPING = Kind("a mapping of names to values", (Mapping,))
MAPPING_OR_NONE = Kind("a mapping of names to values, or None", (Mapping, NoneType))
SETTING = Kind("a string, a number or a boolean", (str, int, float, bool, NoneType))  # None has an error of Kafka's


def require(kind: Kind, **arguments: object) -> None:
    """Raise TypeError unless each argument is of that kind."""
    for name, value in arguments.items():
        if not isinstance(value, kind.types) or (isinstance(value, bool) and bool not in kind.types):
            raise TypeError(f"{name} must be {kind.words}, not {value!r}")


def require_at_least(least: int, **arguments: float | None) -> None:
    """Raise ValueError for a number below `least`, or for NaN. None is valid."""
    for name, value in arguments.items():
        if value is not None and not value >= least:
            raise ValueError(f"{name} must be {least} or more, not {value}")


def require_unicode(what: str, text: str) -> None:
    """Raise ValueError for a text with a lone surrogate: it has no bytes of UTF-8, which clients send."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        wrong = text[error.start]
        raise ValueError(f"{what} has {wrong!a} at place {error.start + 1}, which is no character of Unicode") from None
