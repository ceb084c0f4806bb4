"""Names of topics that are probably misspelt. An expectation of no requests always holds for such a name.

Theory   Two names mean the same topic if they differ in case or separators only, or by a letter within one word.
         Digits and short words tell topics apart: orders-1 and orders-2, orders and orders-dlq, orders-a and orders-b
         are topics of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_LETTERS: Final = 4  # a slip is assumed only in a word of at least so many letters
_WORDS: Final = re.compile(r"[^\W\d_]+")
_NUMBERS: Final = re.compile(r"\d+")


def meant_by(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` is a slip of; None if there is none, or if the name is known itself."""
    names = sorted(set(known))
    return None if name in names else next((other for other in names if _is_slip(name, other)), None)


def _is_slip(name: str, other: str) -> bool:
    if _NUMBERS.findall(name) != _NUMBERS.findall(other):
        return False
    ours, others = (_WORDS.findall(text.lower()) for text in (name, other))
    if "".join(ours) == "".join(others):
        return bool(ours)
    differing = [pair for pair in zip(ours, others, strict=False) if pair[0] != pair[1]]
    return len(ours) == len(others) and len(differing) == 1 and _differ_by_one(*differing[0])


def _differ_by_one(one: str, other: str) -> bool:
    """Return True if one letter differs, is missing, or is swapped with its neighbour."""
    if min(len(one), len(other)) < _LETTERS or abs(len(one) - len(other)) > 1:
        return False
    first = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    one, other = one[first:], other[first:]
    is_swapped = one[1::-1] == other[:2] and one[2:] == other[2:]
    return is_swapped or one[1:] == other[1:] or one[1:] == other or one == other[1:]
