"""The transactions of a log during a cleaning, batch by batch: which of their batches may go.

Theory   Records of an aborted transaction go, and do not count as the last ones of their keys. A transaction marker,
         COMMIT or ABORT, stays until all batches of its transaction are gone; then it gets a delete horizon
         (record_filter.py). An aborted transaction is remembered while a batch is left before its marker: readers must
         not wait for a marker that is not there.
Units    offsets count records.
Source   storage/.../log/{CleanedTransactionMetadata,Cleaner}.java shouldDiscardBatch @ 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop
from typing import final

from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.transactions.state import AbortedTransaction
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import BatchHeader, decode_records
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT, decode_marker


@final
class CleanedTransactions:
    """The state of a cleaning. `aborted` are all transactions that may have a batch in the cleaned part, `kept` those
    to remember."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._to_come = [(transaction.first_offset, transaction) for transaction in aborted]
        heapify(self._to_come)
        self._aborted: dict[int, AbortedTransaction] = {}  # by producer id, those open at the present batch
        self._seen: set[int] = set()  # those of them that have a batch
        self._committed: set[int] = set()  # producers of other transactions that have a batch
        self.kept: list[AbortedTransaction] = []

    def may_go(self, batch: LoggedBatch, header: BatchHeader) -> bool:
        """Return True if the next batch is of an aborted transaction, or is a marker that is no longer needed."""
        while self._to_come and self._to_come[0][0] <= batch.last_offset:
            transaction = heappop(self._to_come)[1]
            self._aborted.setdefault(transaction.producer_id, transaction)
        if header.is_control:
            return self._may_marker_go(batch, header)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._seen.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def _may_marker_go(self, batch: LoggedBatch, header: BatchHeader) -> bool:
        producer_id, data = header.producer_id, batch.records
        try:
            if not decode_records(data):
                return True  # cleaned before
            marker = decode_marker(data)
        except InvalidRecordError:
            return False
        if marker is None:
            return False
        if marker.control_type == COMMIT:
            has_batches = producer_id in self._committed
            self._committed.discard(producer_id)
            return not has_batches
        assert marker.control_type == ABORT
        transaction = self._aborted.pop(producer_id, None)
        has_batches = producer_id in self._seen
        self._seen.discard(producer_id)
        if transaction is not None and has_batches:
            self.kept.append(transaction)
        return not has_batches
