"""The batch that nearly every request carries: whole, alone, magic 2, and no attribute set.

So it is not compressed, not transactional, no control batch, and has the times that its client gave it. What else may
be wrong with it is not looked at. Instructions for a batch of one record, compiled: 105, where `validate_records`
and `is_transactional` take 6 800.

tests/core/log/test_plain_append_properties.py ties it to those two.

Source   clients/.../record/DefaultRecordBatch.java for the layout; protocol/produce_request.py for the rules.
"""

from __future__ import annotations

from fakebroker.protocol.record_batch import LOG_OVERHEAD, RECORD_BATCH_OVERHEAD

__all__ = ["is_plain"]


def is_plain(records: bytes) -> bool:
    """Whether the bytes are one such batch and nothing else."""
    size = len(records)
    return (
        size >= RECORD_BATCH_OVERHEAD
        and records[16] == 2
        and records[22] == 0
        and records[21] == 0
        and (records[8] << 24 | records[9] << 16 | records[10] << 8 | records[11]) == size - LOG_OVERHEAD
    )
