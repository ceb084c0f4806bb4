"""Readers of JSON, YAML or Python values. Each slip gives one sentence that names the key and a valid value.

Errors   ValueError, for a wrong type too: JSON has no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fakebroker.protocol import topic_name
from fakebroker.spelling import closest

_MOST = 2**63 - 1
_MAX_PARTITION = 2**31 - 1
_SHOWN = 60  # characters of a value in a message


def shown(value: object) -> str:
    """Return the value for a message, not too long."""
    try:
        text = repr(value)
    except Exception:  # a user's __repr__ may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """Return the value, if it is a mapping with strings as keys."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} must be a mapping of names to values, not {shown(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"{where} has the key {shown(key)}, which is not a string")
    return value


def refuse_unknown(keys: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ValueError for the first unknown key, and name the one that was probably meant."""
    names = sorted(known)
    for key in keys:
        if key not in names:
            raise ValueError(f"{where} has no {shown(key)}{meant(key, names)}")


def meant(word: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word: the word that was probably meant, or all of them."""
    names = list(known)
    near = closest(word, names)
    return f": {near[0]!r} may be meant" if near else f"; there are {', '.join(names)}"


def whole(value: object, where: str, least: int = -_MOST, most: int = _MOST) -> int:
    """Return the value, if it is a whole number within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{where} must be a whole number, not {shown(value)}")
    if not least <= value <= most:
        bounds = f"{least} or more" if value < least and most == _MOST else f"{least} to {most}"
        raise ValueError(f"{where} must be {bounds}, not {shown(value)}")
    return value


def fraction(value: object, where: str) -> float:
    """Return the value, if it is a probability."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{where} must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def text(value: object, where: str) -> str:
    """Return the value, if it is a string."""
    if not isinstance(value, str):
        raise ValueError(f"{where} must be a string, not {shown(value)}")
    return value


def topic(value: object, where: str) -> str:
    """Return the value, if it can be the name of a topic."""
    name = text(value, where)
    if not topic_name.is_valid(name):
        raise ValueError(
            f"{where} must be a topic name that Kafka accepts, 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and "
            f"'-', not {shown(name)}"
        )
    return name


def partition(value: object, where: str) -> int:
    """Return the value, if it can be the number of a partition."""
    return whole(value, where, 0, _MAX_PARTITION)


def principal(value: object, where: str) -> str:
    """Return the value, if it can be the principal of a client."""
    name = text(value, where)
    kind, colon, _ = name.partition(":")
    if not kind or not colon:
        raise ValueError(f"{where} must be TYPE:NAME, as in 'User:alice', not {shown(name)}")
    return name


def one_of(value: object, where: str, known: Sequence[str]) -> str:
    """Return the value, if it is one of the known names."""
    name = text(value, where)
    if name not in known:
        raise ValueError(f"{where} cannot be {shown(name)}{meant(name, known)}")
    return name


def flag(value: object, where: str) -> bool:
    """Return the value, if it is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be true or false, not {shown(value)}")
    return value


def several(value: object, where: str) -> tuple[Any, ...]:
    """Return one value or many as a tuple. An empty list selects nothing and is refused."""
    if isinstance(value, list | tuple | set | frozenset | range):
        if not value:
            raise ValueError(f"{where} is an empty list, which matches nothing: leave it out to match everything")
        return tuple(value)
    return (value,)
