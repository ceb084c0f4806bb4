"""Patterns as RE2J reads them: of topics in subscriptions, of transactional ids in lists.

Theory   Kafka uses RE2J; this is RE2 itself. Both have the same language. They take time in proportion to the text and,
         for some patterns, to the program of the pattern. Their error messages differ, so RE2J's replace those of RE2.
         RE2 is imported with the first pattern: most processes need none.
Bounded  A program has at most some 10,000 instructions, enough for 100 names of topics. A hostile one takes 2 ns for
         each instruction and each character of a text. `work` is the product. Code that matches many texts takes a
         slice for each `WORK_OF_A_SLICE` of it, and no text may take more than 8 ms. Names of topics never do.
Source   com/google/re2j/Parser.java @ 1.8.
Differs  Of two errors RE2 may report the other one. A letter outside ASCII may not be escaped. RE2J has no limit except
         that a repetition counts to 1,000 at most.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, final

# RE2J's messages by those of RE2.
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


# Patterns that RE2 accepts and RE2J refuses: a byte (\C), a literal brace that is repeated, two groups of one name.
# Text between \Q and \E, or in brackets, is skipped.
_DOUBTFUL: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\(?P<escaped>.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"
    r"|(?P<brace>\{(?!\d+(?:,\d*)?\})(?:[*+?]|\{\d+(?:,\d*)?\}))|\(\?P?<(?P<name>\w+)>",
    re.DOTALL,
)


WORK_OF_A_SLICE: Final = 100_000  # 200 us with hostile programs, much less with others

_WORK_OF_A_TEXT: Final = 4_000_000
_MAX_CHARACTERS: Final = 16_384
# RE2 uses two thirds of it for the program, 16 bytes for an instruction.
_PROGRAM_MEMORY: Final = 262_144
_TOO_LARGE: Final = "pattern too large"


class PatternError(ValueError):
    """An error of a pattern, with RE2J's message."""


@final
class Pattern:
    """A pattern that matches whole texts."""

    __slots__ = ("_compiled",)

    def __init__(self, pattern: str) -> None:
        """Compile the pattern. Raise PatternError."""
        import re2

        if len(pattern) > _MAX_CHARACTERS:
            raise PatternError(_TOO_LARGE)
        try:
            # Compiled twice: RE2 has one limit for the program and for its cache of texts, which it needs afterwards.
            re2.compile(pattern, _options(_PROGRAM_MEMORY))
            self._compiled = re2.compile(pattern, _options())
        except re2.error as error:
            raise PatternError(_description(error)) from None
        if (refused := _refused_by_re2j(pattern)) is not None:
            raise PatternError(refused)

    def matches(self, text: str) -> bool:
        """Return True if the whole text matches. Raise PatternError for a text that takes too long."""
        if self.work(text) > _WORK_OF_A_TEXT:
            raise PatternError(f"{_TOO_LARGE} for a text of {len(text)} characters")
        return self._compiled.fullmatch(text) is not None

    def work(self, text: str) -> int:
        """Return the largest number of instructions that this text may take."""
        return int(self._compiled.programsize) * (len(text) + 1)


@cache
def _options(max_mem: int | None = None) -> Any:
    """Return options with which RE2 logs no errors."""
    import re2

    options = re2.Options()
    options.log_errors = False
    if max_mem is not None:
        options.max_mem = max_mem
    return options


def _refused_by_re2j(regex: str) -> str | None:
    names = set()
    for match in _DOUBTFUL.finditer(regex):
        if match["escaped"] == "C":
            return "invalid escape sequence"
        if match["brace"]:
            return "invalid nested repetition operator"
        if match["name"] in names:
            return "duplicate capture group name"
        if match["name"]:
            names.add(match["name"])
    return None


def _description(error: Exception) -> str:
    said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error.args[0])
    if said.startswith("invalid perl operator: (?<"):
        return "invalid named capture"
    if said.startswith(_TOO_LARGE):
        return _TOO_LARGE
    descriptions = [text for text in _DESCRIPTIONS if said == text or said.startswith(f"{text}:")]
    return _DESCRIPTIONS[max(descriptions, key=len)] if descriptions else said
