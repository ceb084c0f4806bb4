"""The hash of a string as Java has it, by which groups and transactions find their partition.

Source   java.lang.String.hashCode; Utils.abs of clients/.../common/utils/Utils.java.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4_096)
def java_hash(text: str) -> int:
    """Over the UTF-16 units of it. The smallest number is given as 0, as Utils.abs does: only its absolute value is
    asked for."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        value = (31 * value + (encoded[at] << 8 | encoded[at + 1])) & 0xFFFFFFFF
    if value == 0x80000000:
        return 0
    return value - (1 << 32) if value >> 31 else value
