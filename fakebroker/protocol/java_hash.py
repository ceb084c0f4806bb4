"""Java's hash of a string, which assigns groups and transactions to partitions.

Source   java.lang.String.hashCode; Utils.abs of clients/.../common/utils/Utils.java.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4_096)
def java_hash(text: str) -> int:
    """Return the signed hash of the UTF-16 units. The smallest number becomes 0, as in Utils.abs: callers use its
    absolute value."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        value = (31 * value + (encoded[at] << 8 | encoded[at + 1])) & 0xFFFFFFFF
    if value == 0x80000000:
        return 0
    return value - (1 << 32) if value >> 31 else value
