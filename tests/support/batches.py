"""Record batches that are wrong in one place and right in every other, their CRC included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakebroker.protocol.compression import compress
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    Record,
    encode_batch,
    pack_batch,
    read_batch_header,
)

TIME_MS = 1_800_000_000_000  # where the simulation's wall clock starts


def batch_of(
    records: Sequence[Record],
    codec: int = 0,
    base_timestamp_ms: int = TIME_MS,
    body: bytes | None = None,
    **header: int,
) -> bytes:
    """Return a batch with these records, compressed; `fields` overwrite its header, and `body` the records' bytes."""
    plain = encode_batch(records, base_timestamp_ms=base_timestamp_ms)
    fields = read_batch_header(plain)
    attributes = header.pop("attributes", 0) | codec
    data = plain[RECORD_BATCH_OVERHEAD:] if body is None else body
    return pack_batch(fields._replace(attributes=attributes, **header), compress(codec, data))


def keyed(*values: bytes, **kwargs: Any) -> bytes:
    """Return a batch of one record per value, each with a key."""
    return batch_of([Record(b"k", value) for value in values or (b"v",)], **kwargs)


def sequenced(
    producer_id: int, epoch: int, sequence: int, count: int = 1, timestamp_ms: int = TIME_MS, codec: int = 0
) -> bytes:
    """Return a batch of an idempotent producer."""
    return batch_of(
        [Record(b"k", b"v")] * count,
        codec,
        timestamp_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def flipped(batch: bytes, place: int = -1) -> bytes:
    """Return the batch with one byte changed and the old CRC."""
    changed = bytearray(batch)
    changed[place] ^= 0xFF
    return bytes(changed)
