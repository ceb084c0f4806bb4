"""The hash that maps a key to a partition.

Source   clients/.../common/utils/Utils.java murmur2, toPositive; tests/producer/test_partitioner.py has its vectors.
"""

from __future__ import annotations

from typing import Final

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_WORD: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash as an unsigned 32-bit number."""
    size = len(data)
    value = (_SEED ^ size) & _WORD
    whole = size & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _WORD
        k = (k ^ k >> 24) * _M & _WORD
        value = (value * _M & _WORD) ^ k
    if size > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _M & _WORD
    value = (value ^ value >> 13) * _M & _WORD
    return value ^ value >> 15


def partition_for_key(key: bytes, num_partitions: int) -> int:
    """Return the partition of a key."""
    return (murmur2(key) & 0x7FFFFFFF) % num_partitions
