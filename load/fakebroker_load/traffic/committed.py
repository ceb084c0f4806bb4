"""The records that a consumer with isolation.level=read_committed takes from responses to its Fetches.

Theory   The broker returns whole batches up to the last stable offset. It adds the aborted transactions: producer id
         and first offset. From there until the marker of that producer, its transactional batches are hidden. Records
         from the last stable offset on are not returned at all.
Source   clients/.../consumer/internals/CompletedFetch.java of Kafka 4.3.
"""

from __future__ import annotations

from fakebroker.protocol.record_batch import decode_records
from fakebroker_load.wire.log_messages import FetchedPartition, whole_batches

_ABORT = 0  # the type in the key of a marker, after its version


def hidden_batches(fetched: FetchedPartition) -> set[int]:
    """Return the base offsets of the batches that are not shown."""
    aborted = sorted(fetched.aborted, key=lambda transaction: transaction[1])
    hidden: set[int] = set()
    producers: set[int] = set()
    for header, data in whole_batches(fetched.records):
        while aborted and aborted[0][1] <= header.last_offset:
            producers.add(aborted.pop(0)[0])
        if header.is_control:
            if _is_abort(data):
                producers.discard(header.producer_id)
        elif header.is_transactional and header.producer_id in producers:
            hidden.add(header.base_offset)
    return hidden


def _is_abort(batch: bytes) -> bool:
    (marker,) = decode_records(batch)
    return int.from_bytes((marker.key or b"")[2:4], "big") == _ABORT
