"""Read the log of a coordinator: the last record of each transactional id.

Theory   Each change of an id writes all of its partitions. So a value is decoded only if it is the last of its id; of
         overwritten records only the id is read.
Source   core/.../coordinator/transaction/TransactionStateManager.scala loadTransactionMetadata @ 4.4.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.log.log import Log
from fakebroker.core.transactions.log_records import read_id, read_transaction
from fakebroker.core.transactions.metadata import TransactionMetadata
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.slices import Slices

_RECORDS_OF_A_SLICE: Final = 64
_BYTES_OF_A_RECORD: Final = 256  # the part of a long record that takes as long as a short one


def read_log(log: Log) -> Slices[list[TransactionMetadata]]:
    """Return the transactions in the order of the first record of each id. Raise InvalidRecordError."""
    written: dict[str, tuple[bytes | None, bytes]] = {}
    done = 0
    for batch in log.batches_from(log.log_start_offset):
        for record in decode_records(batch.records):
            transactional_id = read_id(record.key)
            if transactional_id is not None:
                if record.value is None:
                    written.pop(transactional_id, None)
                else:
                    written[transactional_id] = record.key, record.value
            done += 1
            if done % _RECORDS_OF_A_SLICE == 0:
                yield
    transactions: list[TransactionMetadata] = []
    done = 0
    for key, value in written.values():
        read = read_transaction(key, value)
        if read is not None and read[1] is not None:
            transactions.append(read[1])
        done += 1 + len(value) // _BYTES_OF_A_RECORD
        if done >= _RECORDS_OF_A_SLICE:
            done = 0
            yield
    return transactions
