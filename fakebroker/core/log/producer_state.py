"""What a log knows of the idempotent producers that wrote to it: epoch, and the last five batches of each.

Theory   A batch that the producer sends again is found by its epoch, first and last sequence, and answered with the
         offset it got the first time. Any other batch must continue the last one: sequences run 0 ... 2^31 - 1, 0 ...
         A producer nobody has heard of may begin anywhere (KIP-360), one with a new epoch only at 0, one with an older
         epoch is refused.
         The state is a function of the log, so each replica has its own and a new leader goes on where the old one
         stopped. It follows the log lazily, up to `map_end_offset`: a follower that never leads hardly pays for it.
Units    sequences and offsets count records; timestamps are the batches' own, milliseconds since the epoch. A producer
         is forgotten when its last timestamp is producer.id.expiration.ms in the past: not the time of the append.
Source   storage/.../log/{ProducerStateManager,ProducerAppendInfo,ProducerStateEntry,BatchMetadata}.java @ 4.0;
         clients/.../record/DefaultRecordBatch.java incrementSequence.
Differs  No snapshots: truncation rebuilds the state from the batches that are left. No transactions yet, so no markers
         and no coordinator epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

NUM_BATCHES_TO_RETAIN: Final = 5
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
MAX_SEQUENCE: Final = 2**31 - 1


def increment_sequence(sequence: int, increment: int) -> int:
    """The sequence `increment` records later; after 2^31 - 1 comes 0."""
    if sequence > MAX_SEQUENCE - increment:
        return increment - (MAX_SEQUENCE - sequence) - 1
    return sequence + increment


@mypyc_attr(acyclic=True)
@final
class ProducerBatch:
    """What a batch of an idempotent producer says of itself; its largest timestamp is the one in the log."""

    __slots__ = ("base_sequence", "max_timestamp_ms", "producer_epoch", "producer_id")

    def __init__(self, producer_id: int, producer_epoch: int, base_sequence: int, max_timestamp_ms: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.max_timestamp_ms = max_timestamp_ms


@mypyc_attr(acyclic=True)
@final
class BatchMetadata:
    """One of the last batches of a producer."""

    __slots__ = ("first_offset", "first_sequence", "last_offset", "last_sequence", "timestamp_ms")

    def __init__(
        self, first_sequence: int, last_sequence: int, first_offset: int, last_offset: int, timestamp_ms: int
    ) -> None:
        self.first_sequence = first_sequence
        self.last_sequence = last_sequence
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.timestamp_ms = timestamp_ms


@final
class ProducerStateEntry:
    """The state of one producer id. `batches` are the last ones of its epoch, oldest first."""

    __slots__ = ("batches", "last_timestamp_ms", "producer_epoch")

    def __init__(self, producer_epoch: int, batches: list[BatchMetadata], last_timestamp_ms: int) -> None:
        self.producer_epoch = producer_epoch
        self.batches = batches
        self.last_timestamp_ms = last_timestamp_ms

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Note a batch that was appended; a new epoch forgets the batches of the old one."""
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches.clear()
        elif len(self.batches) == NUM_BATCHES_TO_RETAIN:
            del self.batches[0]
        self.batches.append(batch)
        self.last_timestamp_ms = batch.timestamp_ms


class ProducerStateManager:
    """The producers of one log, as far as the log was looked at: `map_end_offset`."""

    __slots__ = ("_entries", "map_end_offset")

    def __init__(self, map_end_offset: int = 0) -> None:
        self._entries: dict[int, ProducerStateEntry] = {}
        self.map_end_offset = map_end_offset

    @property
    def producer_ids(self) -> list[int]:
        return list(self._entries)

    def last_entry(self, producer_id: int) -> ProducerStateEntry | None:
        return self._entries.get(producer_id)

    def find_duplicate_batch(self, batch: ProducerBatch, last_offset_delta: int) -> BatchMetadata | None:
        """The cached batch with the same epoch and the same sequences, if there is one."""
        entry = self._entries.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            return None
        first = batch.base_sequence
        last = increment_sequence(first, last_offset_delta)
        for known in entry.batches:
            if known.first_sequence == first and known.last_sequence == last:
                return known
        return None

    def check(self, batch: ProducerBatch, offset: int, topic_partition: TopicPartition) -> None:
        """Raise 47 or 45 unless the batch, about to go to `offset`, may follow what its producer wrote before."""
        entry = self._entries.get(batch.producer_id)
        epoch, first_sequence = batch.producer_epoch, batch.base_sequence
        last_epoch = NO_PRODUCER_EPOCH if entry is None else entry.producer_epoch
        if epoch == last_epoch and entry is not None and _in_sequence(entry.last_sequence, first_sequence):
            return
        place = f"of producer {batch.producer_id} at offset {offset} in partition {topic_partition}"
        if epoch < last_epoch:
            raise KafkaError(
                ErrorCode.invalid_producer_epoch,
                f"Epoch {place} is {epoch}, which is smaller than the last seen epoch {last_epoch}",
            )
        if entry is None or last_epoch == NO_PRODUCER_EPOCH:
            return
        if epoch > entry.producer_epoch:
            if first_sequence != 0:
                raise KafkaError(
                    ErrorCode.out_of_order_sequence_number,
                    f"Invalid sequence number for new epoch {place}: {epoch} (request epoch), {first_sequence} "
                    f"(seq. number), {entry.producer_epoch} (current producer epoch)",
                )
        else:
            raise KafkaError(
                ErrorCode.out_of_order_sequence_number,
                f"Out of order sequence number {place}: {first_sequence} (incoming seq. number), "
                f"{entry.last_sequence} (current end sequence number)",
            )

    def update(self, batch: ProducerBatch, first_offset: int, last_offset: int) -> None:
        """Note a batch that stands in the log."""
        first, timestamp_ms = batch.base_sequence, batch.max_timestamp_ms
        last = increment_sequence(first, last_offset - first_offset)
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            entry = ProducerStateEntry(batch.producer_epoch, [], timestamp_ms)
            self._entries[batch.producer_id] = entry
        entry.add_batch(batch.producer_epoch, BatchMetadata(first, last, first_offset, last_offset, timestamp_ms))

    def reload_from(self, log_start_offset: int) -> None:
        """The log was truncated: forget everything, and read what is left of it again. What was deleted before
        `log_start_offset` is forgotten for good, as in Kafka, which drops the snapshots below it."""
        self._entries.clear()
        self.map_end_offset = log_start_offset

    def oldest_timestamp_ms(self) -> int | None:
        """Of the last batch of the producer that has not written for longest; None if there is no producer."""
        return min((entry.last_timestamp_ms for entry in self._entries.values()), default=None)

    def remove_expired_producers(self, now_wall_ms: int, expiration_ms: int) -> None:
        """Forget who has not written for so long."""
        expired = [
            producer_id
            for producer_id, entry in self._entries.items()
            if now_wall_ms - entry.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]

    def check_invariants(self) -> None:
        for entry in self._entries.values():
            assert 0 < len(entry.batches) <= NUM_BATCHES_TO_RETAIN
            assert entry.last_timestamp_ms == entry.batches[-1].timestamp_ms
            for batch in entry.batches:
                assert batch.last_offset < self.map_end_offset
                assert batch.last_sequence == increment_sequence(
                    batch.first_sequence, batch.last_offset - batch.first_offset
                )
            assert _is_sorted(batch.last_offset for batch in entry.batches)


def _in_sequence(last_sequence: int, next_sequence: int) -> bool:
    return next_sequence == last_sequence + 1 or (next_sequence == 0 and last_sequence == MAX_SEQUENCE)


def _is_sorted(numbers: Iterable[int]) -> bool:
    listed = list(numbers)
    return listed == sorted(listed)
