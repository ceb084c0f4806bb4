"""A short name for what a record says, so that the same record is known again wherever it is sent.

Theory   Eight bytes of BLAKE2b over the record's key, value and headers as they were sent; not its timestamp, nor its
         place in the batch. Two different ones among a million records share a name once in 30 million journals.
         A batch of very many records, or of very many bytes, has no names: whoever sends such has no test that asks
         for one, and the journal would hold up everybody for them.
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
    """That of one record alone, as every client encodes it."""
    return blake2b(encode_record(record, 0, 0)[_BEHIND_DELTAS:], digest_size=_BYTES).hexdigest()


def fingerprints(batch: bytes) -> tuple[str, ...]:
    """One for each record of a batch that was found to be whole; 16 hexadecimal digits. None if they are too many, or
    too large."""
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
    """The same for a batch that nobody has looked at; none if it is not whole."""
    if len(batch) >= RECORD_BATCH_OVERHEAD and _is_large(batch):
        return ()
    if not is_crc_valid(batch, 0, len(batch)) or read_batch_header(batch).compression not in tuple(Codec):
        return ()
    try:
        walk_records(*_records_of(batch), True)
    except (InvalidRecordError, DecompressionError, DecompressedTooLargeError):
        return ()
    return fingerprints(batch)


def _is_large(batch: bytes) -> bool:
    return len(batch) > MOST_BYTES or read_batch_header(batch).record_count > MOST_RECORDS


def _records_of(batch: bytes) -> tuple[bytes, int, int]:
    """The bytes in which the records stand, where the first one begins, and how many there are."""
    header = read_batch_header(batch)
    if not header.compression:
        return batch, RECORD_BATCH_OVERHEAD, header.record_count
    # Bytes behind a batch are dropped by an append, and so are not an error here.
    compressed = batch[RECORD_BATCH_OVERHEAD : header.size_in_bytes]
    data = decompress(header.compression, compressed, MOST_BYTES)
    return data, 0, header.record_count
