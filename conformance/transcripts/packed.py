"""Bytes as text that a person can diff: hex, in which a byte that stands at least 32 times in a row is counted.

    000003e8(78*1000)ff      three bytes and e8, then 0x78 a thousand times, then ff

Unlike something deflated it is the same text whatever library wrote it, and one byte changes two characters.
"""

from __future__ import annotations

import re

_RUN = re.compile(rb"(.)\1{31,}", re.DOTALL)
_COUNTED = re.compile(r"\((\w\w)\*(\d+)\)")


def packed(data: bytes) -> str:
    """Return the data as text without blanks; "-" for no bytes."""
    parts = []
    at = 0
    for run in _RUN.finditer(data):
        parts.append(f"{data[at : run.start()].hex()}({run[1].hex()}*{len(run[0])})")
        at = run.end()
    return "".join(parts) + data[at:].hex() or "-"


def unpacked(text: str) -> bytes:
    """The bytes again. Raises ValueError for anything else."""
    if text == "-":
        return b""
    data = b""
    at = 0
    for counted in _COUNTED.finditer(text):
        data += bytes.fromhex(text[at : counted.start()]) + bytes.fromhex(counted[1]) * int(counted[2])
        at = counted.end()
    return data + bytes.fromhex(text[at:])
