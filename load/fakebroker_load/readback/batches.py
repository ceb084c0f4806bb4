"""Problems of the batches in one partition's log, found without the requests.

Theory   Each batch has a CRC of its bytes, the number of its records, their least and greatest timestamp, and the
         leader epoch of its append. Epochs never decrease, and lie between the leader's epoch before the run and that
         after it. Producer id, producer epoch and sequence are all there, or none is. Within one epoch of a producer,
         each batch continues at the sequence where the one before ended. Only a topic with transactions has batches of
         transactions. A producer that has transaction markers has no batches outside of transactions.
Source   clients/.../record/DefaultRecordBatch.java, storage/.../log/ProducerAppendInfo.java @ 4.3
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.protocol.record_batch import BatchHeader, Record, is_crc_valid

MAGIC = 2
NONE = -1  # for a missing producer id, producer epoch, sequence, or leader epoch
_SEQUENCES = 1 << 31  # sequences wrap to 0 here

DAMAGED = "stored with a wrong CRC"
OTHER_TIMES = "stored with times that its records do not have"
OTHER_EPOCH = "stored under an epoch of nobody"
HALF_A_PRODUCER = "stored as of half a producer"
DOES_NOT_FOLLOW = "its sequence does not follow"
OF_A_TRANSACTION = "stored as of a transaction"
OF_NO_TRANSACTION = "stored as of no transaction"


class BatchJudge:
    """The judge of one partition. Its leader had `first_epoch` before the run and `last_epoch` after it; None if
    unknown. `has_transactions`: the run writes to the topic in transactions."""

    def __init__(self, first_epoch: int | None, last_epoch: int | None, has_transactions: bool = False) -> None:
        self._epoch = NONE if first_epoch is None else first_epoch
        self._last_epoch = last_epoch
        self._has_transactions = has_transactions
        self._next: dict[tuple[int, int], int] = {}  # by producer id and epoch
        self._outside: set[int] = set()  # producer ids with a batch outside of transactions

    def problem(self, header: BatchHeader, data: bytes, records: Sequence[Record] | None) -> str | None:
        """Return the problem of a batch, or None. Batches come in the order of their offsets. `data` is the whole
        batch; `records` is None if they are compressed."""
        return (
            problem_of(header, data, records)
            or self._epoch_problem(header)
            or self._transaction_problem(header)
            or self._sequence_problem(header)
        )

    def _epoch_problem(self, header: BatchHeader) -> str | None:
        epoch = header.partition_leader_epoch
        if self._last_epoch is None:
            return None
        if not self._epoch <= epoch <= self._last_epoch:
            return OTHER_EPOCH
        self._epoch = epoch
        return None

    def _transaction_problem(self, header: BatchHeader) -> str | None:
        if header.is_control:
            return OF_NO_TRANSACTION if header.producer_id in self._outside else None
        if header.is_transactional:
            return None if self._has_transactions else OF_A_TRANSACTION
        if header.base_sequence != NONE:
            self._outside.add(header.producer_id)
        return None

    def _sequence_problem(self, header: BatchHeader) -> str | None:
        producer = header.producer_id, header.producer_epoch
        if header.is_control or header.base_sequence == NONE:
            return None
        expected = self._next.get(producer, header.base_sequence)
        self._next[producer] = (header.base_sequence + header.last_offset_delta + 1) % _SEQUENCES
        return None if header.base_sequence == expected else DOES_NOT_FOLLOW


def problem_of(header: BatchHeader, data: bytes, records: Sequence[Record] | None) -> str | None:
    """Return the problem of a batch that shows without any other batch, or None. The arguments are those of
    `BatchJudge.problem`."""
    if header.magic != MAGIC or not is_crc_valid(data, 0, len(data)):
        return DAMAGED
    if records and not header.has_log_append_time and not _has_times_of(header, records):
        return OTHER_TIMES
    return None if _has_whole_producer(header) else HALF_A_PRODUCER


def _has_whole_producer(header: BatchHeader) -> bool:
    producer = header.producer_id, header.producer_epoch
    if header.is_control:
        return NONE not in producer
    has = [number != NONE for number in (*producer, header.base_sequence)]
    return all(has) or not (any(has) or header.is_transactional)


def _has_times_of(header: BatchHeader, records: Sequence[Record]) -> bool:
    times = [record.timestamp_ms for record in records if record.timestamp_ms is not None]
    return not times or max(times) == header.max_timestamp_ms
