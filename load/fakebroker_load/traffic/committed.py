"""The batches of aborted transactions in a Fetch response, which a consumer with isolation.level=read_committed drops.

Theory   The broker returns whole batches below the last stable offset, also those of aborted transactions. It adds a
         list of these transactions: producer id and first offset. A transactional batch of that producer is hidden from
         the first offset until the ABORT marker of the producer.
Source   clients/.../consumer/internals/CompletedFetch.java of Kafka 4.3.
"""

from __future__ import annotations

from contextlib import suppress

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.transaction_records.control_records import ABORT, decode_marker
from fakebroker_load.wire.log_messages import FetchedPartition, whole_batches


def hidden_batches(fetched: FetchedPartition) -> set[int]:
    """Return the base offsets of the hidden batches. A control batch that cannot be read ends no transaction; readers
    note it as damaged. Raises ProtocolError for invalid headers."""
    transactions = sorted((first_offset, producer_id) for producer_id, first_offset in fetched.aborted)
    aborting: set[int] = set()  # producer ids; the next marker of each is an ABORT
    hidden: set[int] = set()
    for header, data in whole_batches(fetched.records):
        while transactions and transactions[0][0] <= header.last_offset:
            aborting.add(transactions.pop(0)[1])
        if header.is_control:
            with suppress(InvalidRecordError):
                marker = decode_marker(data)
                if marker is not None and marker.control_type == ABORT:
                    aborting.discard(header.producer_id)
        elif header.is_transactional and header.producer_id in aborting:
            hidden.add(header.base_offset)
    return hidden
