"""A short name for what a record says, so that the same record is known again wherever it is sent.

Theory   Eight bytes of BLAKE2b over the record's key, value and headers as they were sent; not its timestamp, nor its
         place in the batch. Two different ones among a million records share a name once in 30 million journals.
"""

from __future__ import annotations

from hashlib import blake2b

from fakebroker.core.log_validator import MAX_DECOMPRESSED_BYTES
from fakebroker.protocol.compression import decompress
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, read_batch_header
from fakebroker.protocol.record_walk import record_facts

_BYTES = 8


def fingerprints(batch: bytes) -> tuple[str, ...]:
    """One for each record of a batch that was found to be whole; 16 hexadecimal digits."""
    header = read_batch_header(batch)
    data, start = batch, RECORD_BATCH_OVERHEAD
    if header.compression:
        data, start = decompress(header.compression, batch[RECORD_BATCH_OVERHEAD:], MAX_DECOMPRESSED_BYTES), 0
    return tuple(
        blake2b(data[facts.body : facts.end], digest_size=_BYTES).hexdigest()
        for facts in record_facts(data, start, header.record_count, 0)
    )
