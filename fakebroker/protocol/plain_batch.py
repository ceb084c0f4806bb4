"""The usual batch of a request: whole, alone, magic 2, and without attributes.

So it is not compressed, not transactional, no control batch, and has its client's timestamps. Other errors are not
checked. A batch of one record takes 105 instructions, compiled; `validate_records` and `is_transactional` take 6 800.

tests/core/log/test_plain_append_properties.py ties it to those two.

Source   clients/.../record/DefaultRecordBatch.java for the layout; protocol/produce_request.py for the rules.
"""

from __future__ import annotations

from fakebroker.protocol.batch_layout import (
    ATTRIBUTES_AT,
    FLAGS_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
)

__all__ = ["is_plain", "is_plain_in_transaction"]


def is_plain(records: bytes) -> bool:
    """Return True if the bytes are one such batch and nothing else."""
    return _is_one(records, 0)


def is_plain_in_transaction(records: bytes) -> bool:
    """Return True if the bytes are one such batch, except that it is transactional."""
    return _is_one(records, TRANSACTIONAL_FLAG)


def _is_one(records: bytes, flags: int) -> bool:
    size = len(records)
    if size < RECORD_BATCH_OVERHEAD or records[MAGIC_AT] != 2 or records[FLAGS_AT] != flags or records[ATTRIBUTES_AT]:
        return False
    at = LENGTH_AT
    length = records[at] << 24 | records[at + 1] << 16 | records[at + 2] << 8 | records[at + 3]
    return length == size - LOG_OVERHEAD
