"""A watcher of a producer: it checks Kafka's promises for each record from outside.

Theory   Each record has one callback. It does not time out early: without a batch not before `max.block.ms` after
         `send`, in a batch not before `delivery.timeout.ms` after the creation of the batch. Where order is promised,
         the later of two acknowledged records of a partition has the higher offset. The values of all batched records
         fit into `buffer.memory`, without compression. All this is computed from the calls and results only, without
         the producer's own numbers.
Units    monotonic milliseconds, bytes.
Errors   AssertionError, if a promise is broken.
Limit    No acks=0, no transactions; generations since KIP-91. Order is promised to a caller that sends one record after
         the other, like a thread that `send` blocks: each after `Sending.is_done` of the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from fakebroker.producer.journal.events import (
    NO_ERROR,
    ProducerEvent,
    RecordAppended,
    RecordCalledBack,
    RecordRefused,
    RecordSent,
    ResponseHandled,
)
from fakebroker.producer.producer_config import ProducerConfig

# Kafka retries after these until the deadline. The list is from Kafka's errors, not from our own classification.
_RETRIABLE = frozenset(
    {
        "NETWORK_EXCEPTION", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR",
    }
)  # fmt: skip
_TIME_OUTS = frozenset({"ProducerTimeoutError", "BufferExhaustedError"})

# A result: the record's number, its partition or -1, its offset or -1, the error's name.
OutcomeListener = Callable[[int, int, int, str], None]


class _WatchedRecord:
    """A record that has not ended."""

    __slots__ = ("batch_ms", "sent_ms", "size")

    def __init__(self, sent_ms: int, size: int) -> None:
        self.sent_ms = sent_ms
        self.size = size
        self.batch_ms: int | None = None  # creation time of its batch


class ProducerWatch:
    """A watcher: give `hear` to the producer's `listen`, for `kinds`, before the first record. `promises_order`: Kafka
    promises order with these settings."""

    kinds: Final = (RecordSent, RecordAppended, RecordRefused, RecordCalledBack, ResponseHandled)

    def __init__(self, config: ProducerConfig, on_outcome: OutcomeListener | None = None) -> None:
        self.sent = 0
        self.batches = 0  # acknowledged by a broker
        self.refused = 0  # errors that brokers returned, most of them retried
        self.outcomes: Counter[str] = Counter()  # of records, by the name of the error
        self.promises_order = config.enable_idempotence or (
            config.max_in_flight_requests_per_connection == 1 and config.acks == -1
        )
        self._config = config
        self._told = on_outcome
        self._open: dict[int, _WatchedRecord] = {}
        self._held = 0  # bytes of values in batches
        self._batch_ms: dict[tuple[str, int], int] = {}  # by partition, creation time of its last batch
        self._last: dict[tuple[str, int], tuple[int, int]] = {}  # last acknowledged number and offset

    @property
    def open(self) -> int:
        """Return the number of records that have not ended."""
        return len(self._open)

    def hear(self, event: ProducerEvent, subject: object) -> None:
        match event:
            case RecordSent():
                self.sent += 1
                self._open[event.record] = _WatchedRecord(event.mono_ms, event.size)
            case RecordAppended():
                self._appended(event)
            case RecordCalledBack() | RecordRefused(is_thrown=True):
                self._ended(event)
            case ResponseHandled():
                acknowledged = sum(error == NO_ERROR for _, _, error, _ in event.partitions)
                self.batches += acknowledged
                self.refused += len(event.partitions) - acknowledged

    def _appended(self, event: RecordAppended) -> None:
        watched = self._open[event.record]
        place = event.topic, event.partition
        if event.is_new_batch:
            self._batch_ms[place] = event.mono_ms
        watched.batch_ms = self._batch_ms[place]
        self._held += watched.size
        assert self._held <= self._config.buffer_memory, f"{self._held} bytes are in a smaller buffer.memory"

    def _ended(self, event: RecordCalledBack | RecordRefused) -> None:
        """Check the end of a record: its callback, or its refusal."""
        number, name = event.record, event.error
        watched = self._open.pop(number, None)
        assert watched is not None, f"record {number} ends for the second time: {name}"
        if watched.batch_ms is not None:
            self._held -= watched.size
        partition = offset = -1
        if isinstance(event, RecordCalledBack) and name == NO_ERROR:
            partition, offset = event.partition, event.offset
            if self.promises_order and offset >= 0:
                self._check_order(number, (event.topic, partition), offset)
        else:
            self._check_time(watched, event)
        self.outcomes[name] += 1
        if self._told is not None:
            self._told(number, partition, offset, name)

    def _check_time(self, watched: _WatchedRecord, event: RecordCalledBack | RecordRefused) -> None:
        number, name = event.record, event.error
        if name not in _RETRIABLE and name not in _TIME_OUTS:
            return
        since_ms, limit_ms = watched.sent_ms, self._config.max_block_ms
        if watched.batch_ms is not None:
            since_ms, limit_ms = watched.batch_ms, self._config.delivery_timeout_ms
        waited_ms = event.mono_ms - since_ms
        assert waited_ms >= limit_ms, f"record {number} ends with {name} after {waited_ms} of {limit_ms} ms"

    def _check_order(self, number: int, place: tuple[str, int], offset: int) -> None:
        last, before = self._last.get(place, (0, -1))
        is_later = number > last
        assert is_later == (offset > before), (
            f"record {number} of {place} is at offset {offset}, record {last} at {before}"
        )
        if is_later:
            self._last[place] = number, offset
