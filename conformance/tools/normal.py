"""Remove from an output what differs between any two clusters: ids, addresses, times, folders.

Spaces are counted as one: tables are as wide as the widest id in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_RULES = [
    (re.compile(pattern, re.MULTILINE), word)
    for pattern, word in (
        (r"^\s+at \S+\(.*\)\n", ""),  # where in the tool it was thrown
        # A consumer that is closed or moves on while an answer is on its way; each side has it now and then.
        (r"^.*WARN \[Consumer .*Not updating high watermark for partition.*\n?", ""),
        (r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ", ""),  # when a warning was printed
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.:,]\d{1,9}(?:Z|[+-]\d\d:?\d\d)?", "TIME"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d)?", "TIME"),
        (r"\b1[6-9]\d{11}\b", "TIME_MS"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UUID"),
        (r"(?<![\w./-])(?=[\w-]*[A-Z])[\w-]{22}(?![\w./-])", "ID"),  # a UUID as Kafka writes it
        (r"(?<![\w./-])(?:/tmp|/var/folders)(?:/[\w.@+-]+)+", "FOLDER"),
        (r"\[A(?:dmin|DMIN)Client clientId=adminclient-\d+\]", "[AdminClient]"),
        (r"\badminclient-\d+\b", "adminclient-N"),
        (r"[ \t]+", " "),
        (r" $", ""),
        (r"(?i)(cluster ?id: )\S+", r"\1ID"),
    )
]

_ISR = re.compile(r"(Isr: )([\d,]+)")  # a set: Kafka shows it in the order in which its parts came together


def normal(text: str, mask: Mapping[str, str], *, unordered: bool) -> list[str]:
    """The lines of an output, as they are compared."""
    text = re.sub(r"\b(127\.0\.0\.1|localhost):\d{4,5}\b", r"\1:PORT", text)
    for pattern, word in mask.items():
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    for rule, word in _RULES:
        text = rule.sub(word, text)
    text = _ISR.sub(lambda match: match[1] + ",".join(sorted(match[2].split(","))), text)
    lines = text.strip("\n").split("\n") if text.strip() else []
    return sorted(lines) if unordered else lines
