"""Fingerprints of records: equal records have equal ones, in whatever request they are sent.

Theory   Eight bytes of BLAKE2b over the record's key, value and headers as sent, without its timestamp and its place in
         the batch. Two different ones among a million records collide once in 30 million journals. A very large batch
         has no fingerprints: no test asks for them, and computing them would delay all clients.
"""

from __future__ import annotations

from hashlib import blake2b

from fakebroker.protocol.compression import Codec, DecompressedTooLargeError, DecompressionError, decompress
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    Record,
    encode_record,
    is_crc_valid,
    read_batch_header,
)
from fakebroker.protocol.record_walk import record_facts, walk_records

_BYTES = 8
_BEHIND_DELTAS = 3  # attributes, timestamp and offset deltas of 0
MOST_RECORDS = 10_000  # librdkafka's batch.num.messages
MOST_BYTES = 16 << 20  # decompressed


def fingerprint(record: Record) -> str:
    """Return the fingerprint of one record alone, as every client encodes it."""
    return blake2b(encode_record(record, 0, 0)[_BEHIND_DELTAS:], digest_size=_BYTES).hexdigest()


def fingerprints(batch: bytes) -> tuple[str, ...]:
    """Return one fingerprint of 16 hexadecimal digits for each record of a sound batch; none for a batch that is too
    large."""
    if _is_large(batch):
        return ()
    try:
        data, start, count = _records_of(batch)
    except DecompressedTooLargeError:
        return ()
    return tuple(
        blake2b(data[facts.body : facts.end], digest_size=_BYTES).hexdigest()
        for facts in record_facts(data, start, count, 0)
    )


def fingerprints_if_whole(batch: bytes) -> tuple[str, ...]:
    """Return the fingerprints of an unchecked batch; none if it is not sound."""
    if len(batch) >= RECORD_BATCH_OVERHEAD and _is_large(batch):
        return ()
    if not is_crc_valid(batch, 0, len(batch)) or read_batch_header(batch).compression not in tuple(Codec):
        return ()
    try:
        walk_records(*_records_of(batch), True)
    except (InvalidRecordError, DecompressionError, DecompressedTooLargeError):
        return ()
    return fingerprints(batch)


def producer_of(batch: bytes) -> tuple[int, int, int]:
    """Return producer id, producer epoch and base sequence of a batch; -1 if it is too short to have them."""
    if len(batch) < RECORD_BATCH_OVERHEAD:
        return -1, -1, -1
    header = read_batch_header(batch)
    return header.producer_id, header.producer_epoch, header.base_sequence


def _is_large(batch: bytes) -> bool:
    return len(batch) > MOST_BYTES or read_batch_header(batch).record_count > MOST_RECORDS


def _records_of(batch: bytes) -> tuple[bytes, int, int]:
    """Return the bytes with the records, the position of the first one, and the number of records."""
    header = read_batch_header(batch)
    if not header.compression:
        return batch, RECORD_BATCH_OVERHEAD, header.record_count
    # An append drops bytes behind a batch, so they are no error here.
    compressed = batch[RECORD_BATCH_OVERHEAD : header.size_in_bytes]
    data = decompress(header.compression, compressed, MOST_BYTES)
    return data, 0, header.record_count
