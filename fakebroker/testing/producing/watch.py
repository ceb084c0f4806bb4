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

from fakebroker.producer.client.frames import ProduceResponse
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.journal.listener import Listener
from fakebroker.producer.network.client_request import ClientResponse
from fakebroker.producer.producer_batch import ProducerBatch, RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import kafka_name

NO_ERROR = "NONE"
# Kafka retries after these until the deadline. The list is from Kafka's errors, not from our own classification.
_RETRIABLE = frozenset(
    {
        "NETWORK_EXCEPTION", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR",
    }
)  # fmt: skip
_TIME_OUTS = frozenset({"ProducerTimeoutError", "BufferExhaustedError"})

# A result: the record's number, its partition or -1, its offset or -1, the error's name.
Told = Callable[[int, int, int, str], None]


class _Watched:
    """A record, and its callback, which calls the original one."""

    __slots__ = ("batch_ms", "is_told", "number", "sending", "sent_ms", "size", "theirs", "watch")

    def __init__(self, watch: ProducerWatch, sending: Sending, number: int, sent_ms: int, size: int) -> None:
        self.watch = watch
        self.sending: Sending | None = sending  # until its end, as the two reference each other
        self.theirs = sending.callback
        self.number = number
        self.sent_ms = sent_ms
        self.size = size
        self.batch_ms: int | None = None  # creation time of its batch
        self.is_told = False

    def __call__(self, metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        self.watch.ended(self, metadata, error)
        if self.theirs is not None:
            self.theirs(metadata, error)


class ProducerWatch(Listener):
    """A watcher; pass it to the producer's `listen`. `promises_order`: Kafka promises order with these settings."""

    def __init__(self, config: ProducerConfig, told: Told | None = None) -> None:
        super().__init__()
        self.sent = 0
        self.batches = 0  # acknowledged by a broker
        self.refused = 0  # errors that brokers returned, most of them retried
        self.outcomes: Counter[str] = Counter()  # of records, by the name of the error
        self.promises_order = config.enable_idempotence or (
            config.max_in_flight_requests_per_connection == 1 and config.acks == -1
        )
        self._config = config
        self._told = told
        self._open: dict[Sending, _Watched] = {}
        self._held = 0  # bytes of values in batches
        self._batch_ms: dict[tuple[str, int], int] = {}  # by partition, creation time of its last batch
        self._last: dict[tuple[str, int], tuple[int, int]] = {}  # last acknowledged number and offset

    @property
    def open(self) -> int:
        """Return the number of records that have not ended."""
        return len(self._open)

    def record_sent(self, sending: Sending) -> None:
        self.sent += 1
        size = len(sending.key or b"") + len(sending.value or b"")
        watched = self._open[sending] = _Watched(self, sending, self.sent, self.now_ms, size)
        sending.callback = watched

    def record_appended(self, sending: Sending, batch: ProducerBatch, is_new_batch: bool) -> None:
        watched = self._open[sending]
        place = batch.partition.topic, batch.partition.partition
        if is_new_batch:
            self._batch_ms[place] = self.now_ms
        watched.batch_ms = self._batch_ms[place]
        self._held += watched.size
        assert self._held <= self._config.buffer_memory, f"{self._held} bytes are in a smaller buffer.memory"

    def record_refused(self, sending: Sending, error: ProducerError, is_thrown: bool) -> None:
        if is_thrown:
            self.ended(self._open[sending], None, error)

    def responded(self, response: ClientResponse) -> None:
        if isinstance(response.body, ProduceResponse):
            answers = response.body.answers
            acknowledged = sum(not answer.code for answer in answers)
            self.batches += acknowledged
            self.refused += len(answers) - acknowledged

    def ended(self, watched: _Watched, metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        """Record and check the end of a record: its callback, or its refusal."""
        assert not watched.is_told, f"record {watched.number} ends for the second time: {error}"
        assert (metadata is None) != (error is None), "a record has an error or a place"
        watched.is_told = True
        assert watched.sending is not None, "a record that has not ended is there"
        del self._open[watched.sending]
        watched.sending = None
        if watched.batch_ms is not None:
            self._held -= watched.size
        partition = offset = -1
        name = NO_ERROR if error is None else name_of(error)
        if error is not None:
            self._check_time(watched, name)
        else:
            assert metadata is not None
            partition, offset = metadata.partition.partition, metadata.offset
            if self.promises_order and offset >= 0:
                self._check_order(watched, (metadata.partition.topic, partition), offset)
        self.outcomes[name] += 1
        if self._told is not None:
            self._told(watched.number, partition, offset, name)

    def _check_time(self, watched: _Watched, name: str) -> None:
        if name not in _RETRIABLE and name not in _TIME_OUTS:
            return
        since_ms, limit_ms = watched.sent_ms, self._config.max_block_ms
        if watched.batch_ms is not None:
            since_ms, limit_ms = watched.batch_ms, self._config.delivery_timeout_ms
        waited_ms = self.now_ms - since_ms
        assert waited_ms >= limit_ms, f"record {watched.number} ends with {name} after {waited_ms} of {limit_ms} ms"

    def _check_order(self, watched: _Watched, place: tuple[str, int], offset: int) -> None:
        number, before = self._last.get(place, (0, -1))
        is_later = watched.number > number
        assert is_later == (offset > before), (
            f"record {watched.number} of {place} is at offset {offset}, record {number} at {before}"
        )
        if is_later:
            self._last[place] = watched.number, offset


def name_of(error: ProducerError) -> str:
    """Return Kafka's name of a broker error, otherwise the name of the class."""
    return kafka_name(error.code) if isinstance(error, BrokerError) else type(error).__name__
