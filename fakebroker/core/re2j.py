"""Patterns as RE2J reads them: of topics in subscriptions, of transactional ids in lists.

Theory   Kafka uses RE2J; this is RE2 itself. Both know the same language, and take time in proportion to the text,
         whatever the pattern. What is wrong with a pattern they say in other words, so RE2J's are put in their place.
         RE2 is imported with the first pattern: most processes never see one.
Source   com/google/re2j/Parser.java @ 1.8.
Differs  Of two things that are wrong RE2 may name the other one. A letter outside ASCII may not be escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

# What RE2J says where RE2 says what stands before it.
_DESCRIPTIONS: Final = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "regexp/syntax: internal error",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid UTF-8": "invalid UTF-8",
    "invalid named capture group": "invalid named capture",
}


# What RE2 takes and RE2J does not: a byte (\C), a brace that stands for itself and is repeated, two groups of one name.
# What stands between \Q and \E, or in brackets, is passed over.
_DOUBTFUL: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\(?P<escaped>.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"
    r"|(?P<brace>\{(?!\d+(?:,\d*)?\})(?:[*+?]|\{\d+(?:,\d*)?\}))|\(\?P?<(?P<name>\w+)>",
    re.DOTALL,
)


class PatternError(ValueError):
    """What is wrong with a pattern, in RE2J's words."""


def whole_match(pattern: str) -> Callable[[str], bool]:
    """Whether a text matches as a whole. Raises PatternError."""
    import re2

    try:
        compiled = re2.compile(pattern, _quiet())
    except re2.error as error:
        raise PatternError(_description(error)) from None
    if (refused := _refused_by_re2j(pattern)) is not None:
        raise PatternError(refused)
    return lambda text: compiled.fullmatch(text) is not None


@cache
def _quiet() -> Any:
    """Return options with which RE2 logs no errors."""
    import re2

    options = re2.Options()
    options.log_errors = False
    return options


def _refused_by_re2j(regex: str) -> str | None:
    names = set()
    for found in _DOUBTFUL.finditer(regex):
        if found["escaped"] == "C":
            return "invalid escape sequence"
        if found["brace"]:
            return "invalid nested repetition operator"
        if found["name"] in names:
            return "duplicate capture group name"
        if found["name"]:
            names.add(found["name"])
    return None


def _description(error: Exception) -> str:
    said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error.args[0])
    if said.startswith("invalid perl operator: (?<"):
        return "invalid named capture"
    found = [text for text in _DESCRIPTIONS if said == text or said.startswith(f"{text}:")]
    return _DESCRIPTIONS[max(found, key=len)] if found else said
